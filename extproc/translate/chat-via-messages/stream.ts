import { encodeError, GatewayError } from "../../../contract/errors.ts";
import type { Meter } from "../../meter/meter.ts";
import { createChunkEncoder, type ChunkEncoder, type Delta, type UrlCitation } from "../../protocol/chat/encode.ts";
import type { AnswerBlock } from "../../protocol/messages/answer-block.ts";
import type { AnswerDelta, AnswerEvent } from "../../protocol/messages/answer-event.ts";
import { encodeSseEvent } from "../../protocol/sse.ts";
import { createStreamUsage } from "../messages/stream-usage.ts";
import type { StreamOutcome } from "../translation.ts";
import { createAnswerUnwrapper } from "./answer-tool.ts";
import { completionId, isReturnable, toAnnotations, toReasoningDetail, type AnswerContext } from "./answer.ts";
import { createCallStream, type StreamedCall } from "./call-stream.ts";
import { mapStopReason } from "./finish.ts";

/** Turns a message's events into a chat stream, event by event. Its text is what the client gets. */
export interface AnswerMachine {
  /** Not to be called once the outcome is known. */
  accept(event: AnswerEvent): string;
  /** The upstream closed. */
  end(): string;
  fail(error: GatewayError): string;
  /** Ends the answer as one that ran into its limit of output tokens. */
  stopForCredit(): string;
  outcome(): StreamOutcome;
}

/** A block between its start and its stop. */
type OpenBlock =
  | { type: "text"; start: number; citations: UrlCitation[] }
  | { type: "thinking"; thinking: string; signature: string }
  | { type: "tool_use"; call: StreamedCall }
  | { type: "other" };

export function createAnswerMachine(meter: Meter, context: AnswerContext): AnswerMachine {
  const { facts, requestId } = context;
  const calls = createCallStream(context, (text) => meter.produced(text));
  const usage = createStreamUsage(meter, { isInclusive: context.isUsageInclusive });
  const blocks = new Map<number, OpenBlock>();
  const annotations: UrlCitation[] = [];
  let encoder: ChunkEncoder | undefined;
  let stop: Pick<Extract<AnswerEvent, { type: "message_delta" }>, "stopReason" | "stopSequence" | "explanation"> | undefined;
  let contentLength = 0;
  let detailCount = 0;
  let outcome: StreamOutcome = "open";
  const unwrap = facts.answerTool === null ? null : createAnswerUnwrapper(facts.answerTool);

  function accept(event: AnswerEvent): string {
    return unwrap === null ? step(event) : unwrap(event).map(step).join("");
  }

  function step(event: AnswerEvent): string {
    switch (event.type) {
      case "message_start":
        return encoder === undefined ? start(event.id, event.usage) : "";
      case "content_block_start":
        return opening() + startBlock(event.index, event.block);
      case "content_block_delta":
        return opening() + addDelta(event.index, event.delta);
      case "content_block_stop":
        return opening() + stopBlock(event.index);
      case "message_delta":
        usage.update(event.usage);
        // A later delta may only bring usage.
        if (event.stopReason !== null || stop === undefined) stop = event;
        return opening();
      case "message_stop":
        return opening() + finish();
      case "ping":
        return ": ping\n\n";
      case "error":
        return fail(event.error);
    }
  }

  function start(id: string, startUsage: unknown): string {
    usage.start(startUsage);
    encoder = createChunkEncoder(
      { id: completionId(id, requestId), created: context.nowSeconds, model: facts.model },
      facts.wantsUsage,
    );
    return encoder.delta({ role: "assistant", content: "" });
  }

  /** Servers that leave message_start out still get a stream that begins with the role. */
  function opening(): string {
    return encoder === undefined ? start("", {}) : "";
  }

  function startBlock(index: number, block: AnswerBlock): string {
    switch (block.type) {
      case "text":
        blocks.set(index, { type: "text", start: contentLength, citations: [] });
        return addText(block.text) + addCitations(index, block.citations);
      case "thinking":
        blocks.set(index, { ...block, thinking: "" });
        return addThinking(index, block.thinking);
      case "redacted_thinking":
        blocks.set(index, { type: "other" });
        return reasoningDetail(block);
      case "tool_use":
        return startCall(index, block);
      case "other":
        blocks.set(index, { type: "other" });
        return "";
    }
  }

  function startCall(index: number, block: Extract<AnswerBlock, { type: "tool_use" }>): string {
    const call = calls.start(block);
    blocks.set(index, { type: "tool_use", call });
    return deltas(call.opening);
  }

  function addDelta(index: number, change: AnswerDelta): string {
    switch (change.type) {
      case "text_delta":
        return addText(change.text);
      case "thinking_delta":
        return addThinking(index, change.thinking);
      case "signature_delta": {
        const block = blocks.get(index);
        if (block?.type === "thinking") block.signature = change.signature;
        return "";
      }
      case "input_json_delta":
        return addArguments(index, change.partialJson);
      case "citations_delta":
        return addCitations(index, change.citations);
      case "other":
        return "";
    }
  }

  function addText(text: string): string {
    if (text === "") return "";
    meter.produced(text);
    contentLength += text.length;
    return delta({ content: text });
  }

  function addThinking(index: number, thinking: string): string {
    if (thinking === "") return "";
    meter.produced(thinking);
    const block = blocks.get(index);
    if (block?.type === "thinking") block.thinking += thinking;
    return facts.hidesReasoning ? "" : delta({ reasoning_content: thinking });
  }

  function addArguments(index: number, partialJson: string): string {
    if (partialJson === "") return "";
    meter.produced(partialJson);
    const block = blocks.get(index);
    return block?.type === "tool_use" ? deltas(block.call.add(partialJson)) : "";
  }

  function addCitations(index: number, citations: Parameters<typeof toAnnotations>[0]): string {
    const block = blocks.get(index);
    // The end is known when the block is.
    if (block?.type === "text") block.citations.push(...toAnnotations(citations, { start: block.start, end: block.start }));
    return "";
  }

  function stopBlock(index: number): string {
    const block = blocks.get(index);
    blocks.delete(index);
    switch (block?.type) {
      case "text":
        for (const { type, url_citation } of block.citations)
          annotations.push({ type, url_citation: { ...url_citation, end_index: contentLength } });
        return "";
      case "thinking":
        return reasoningDetail(block);
      case "tool_use":
        return deltas(block.call.stop());
      case "other":
      case undefined:
        return "";
    }
  }

  function reasoningDetail(block: AnswerBlock): string {
    if (facts.hidesReasoning || !isReturnable(block)) return "";
    detailCount += 1;
    return delta({ reasoning_details: [toReasoningDetail(block, detailCount - 1)] });
  }

  function delta(change: Delta): string {
    return encoder?.delta(change) ?? "";
  }

  function deltas(changes: readonly Delta[]): string {
    return changes.map(delta).join("");
  }

  function finish(): string {
    if (encoder === undefined) return "";
    const unstopped = [...blocks.keys()].map(stopBlock).join("");
    const ending = mapStopReason({
      stopReason: stop?.stopReason ?? null,
      stopSequence: stop?.stopSequence ?? null,
      hasToolCalls: calls.count() > 0,
      isLegacy: facts.isLegacy,
    });
    const explanation = ending.finishReason === "content_filter" && contentLength === 0 ? stop?.explanation : null;
    outcome = "complete";
    return [
      unstopped,
      annotations.length > 0 ? encoder.delta({ annotations }) : "",
      explanation ? encoder.delta({ refusal: explanation }) : "",
      encoder.finish(ending),
      facts.wantsUsage ? encoder.usage(meter.final().usage) : "",
      encoder.done(),
    ].join("");
  }

  /** One error frame ends the stream. No `[DONE]` follows: a client that looks for that alone would take it as whole (S22). */
  function fail(error: GatewayError): string {
    if (outcome !== "open") return "";
    outcome = "failed";
    return encodeSseEvent(null, JSON.stringify(encodeError("chat", error, requestId)));
  }

  function stopForCredit(): string {
    if (outcome !== "open") return "";
    stop = { stopReason: "max_tokens", stopSequence: null, explanation: null };
    return opening() + finish();
  }

  function end(): string {
    if (outcome !== "open") return "";
    const text = fail(new GatewayError("upstream_error", "The model server broke off in the middle of its answer."));
    outcome = "truncated";
    return text;
  }

  return {
    accept,
    end,
    fail,
    stopForCredit,
    outcome: () => outcome,
  };
}
