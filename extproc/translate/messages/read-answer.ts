import { GatewayError } from "../../../contract/errors.ts";
import type { AnswerBlock } from "../../protocol/messages/answer-block.ts";
import { eventsOf, parseEvent, type AnswerDelta, type AnswerEvent as WireEvent } from "../../protocol/messages/answer-event.ts";
import { parseAnswer } from "../../protocol/messages/answer.ts";
import { createBlockPositions } from "../../protocol/messages/block-positions.ts";
import type { AnswerReader, ReadAnswerContext } from "../conversation/answer.ts";
import type { AnswerEvent } from "../conversation/answer-event.ts";
import type { ToolNames } from "../conversation/names.ts";
import { createAnswerUnwrapper } from "./answer-tool.ts";
import { findDeltaText } from "./delta-text.ts";
import { isUnknownReason, readStopReason } from "./stop-reason.ts";
import { createStreamUsage } from "./stream-usage.ts";

export interface MessagesAnswerContext extends ReadAnswerContext {
  isUsageInclusive: boolean;
  names: ToolNames;
  /** The tool whose input is the answer, by the server's name. */
  answerTool: string | null;
}

type Stop = Pick<Extract<WireEvent, { type: "message_delta" }>, "stopReason" | "stopSequence" | "explanation">;

/** A block between its start and its stop; for a call, the input that its start has. */
type OpenBlock = { type: "call"; input: string; hasDeltas: boolean } | { type: "shown" };

/** A messages answer, complete or as its events. */
export function createAnswerReader(context: MessagesAnswerContext): AnswerReader {
  const { meter, names } = context;
  const usage = createStreamUsage(meter, { isInclusive: context.isUsageInclusive });
  const unwrap = context.answerTool === null ? null : createAnswerUnwrapper(context.answerTool);
  const positions = createBlockPositions();
  const open = new Map<number, OpenBlock>();
  let isStarted = false;
  let hasUnread = false;
  let stop: Stop | undefined;

  function take(event: WireEvent): AnswerEvent[] {
    return unwrap === null ? step(event) : unwrap(event).flatMap(step);
  }

  function step(event: WireEvent): AnswerEvent[] {
    switch (event.type) {
      case "message_start":
        if (isStarted) return [];
        usage.start(event.usage);
        return start(event.id);
      case "content_block_start":
        return started(startBlock(event.index, event.block));
      case "content_block_delta":
        return started(addDelta(event.index, event.delta));
      case "content_block_stop":
        return started(closeBlock(event.index));
      case "message_delta":
        usage.update(event.usage);
        // A later delta may contain only usage.
        if (event.stopReason !== null || stop === undefined) stop = event;
        return started([]);
      case "message_stop":
        return started(finish());
      case "ping":
      case "error":
        return [event];
    }
  }

  function start(id: string): AnswerEvent[] {
    isStarted = true;
    return [{ type: "start", id, usage: {} }];
  }

  /** An answer from a server that omits message_start still starts. */
  function started(events: AnswerEvent[]): AnswerEvent[] {
    if (isStarted) return events;
    usage.start({});
    return [...start(""), ...events];
  }

  function startBlock(index: number, block: AnswerBlock): AnswerEvent[] {
    switch (block.type) {
      case "text":
        open.set(index, { type: "shown" });
        return [
          { type: "open", index, block: { type: "text" } },
          ...grow("text", index, block.text),
          ...cite(index, block.citations),
        ];
      case "thinking":
        open.set(index, { type: "shown" });
        return [
          { type: "open", index, block: { type: "thinking" } },
          ...grow("thinking", index, block.thinking),
          ...sign(index, block.signature),
        ];
      case "redacted_thinking":
        open.set(index, { type: "shown" });
        return [{ type: "open", index, block }];
      case "tool_use":
        open.set(index, { type: "call", input: block.input, hasDeltas: false });
        return [{ type: "open", index, block: { type: "tool_call", id: block.id, name: names.toClient(block.name) } }];
      // Clients of another protocol cannot use the work of the server's own tools.
      case "other":
        return [];
    }
  }

  function addDelta(index: number, delta: AnswerDelta): AnswerEvent[] {
    switch (delta.type) {
      case "text_delta":
        return grow("text", index, delta.text);
      case "thinking_delta":
        return grow("thinking", index, delta.thinking);
      case "input_json_delta": {
        const block = open.get(index);
        if (block?.type === "call") block.hasDeltas ||= delta.partialJson !== "";
        return grow("arguments", index, delta.partialJson);
      }
      case "signature_delta":
        // An empty one adds nothing to a signature that came before.
        return sign(index, delta.signature);
      case "citations_delta":
        return cite(index, delta.citations);
      case "other":
        hasUnread ||= delta.hasText;
        return [];
    }
  }

  function grow(type: "text" | "thinking" | "arguments", index: number, text: string): AnswerEvent[] {
    if (text === "") return [];
    meter.produced(text);
    return [{ type, index, text }];
  }

  function sign(index: number, signature: string): AnswerEvent[] {
    return signature === "" ? [] : [{ type: "signature", index, signature }];
  }

  function cite(index: number, citations: Extract<AnswerBlock, { type: "text" }>["citations"]): AnswerEvent[] {
    if (citations.length === 0) return [];
    return [{ type: "citations", index, citations: citations.map((citation) => ({ ...citation, range: null })) }];
  }

  function closeBlock(index: number): AnswerEvent[] {
    const block = open.get(index);
    if (block === undefined) return [];
    open.delete(index);
    const close: AnswerEvent = { type: "close", index };
    if (block.type === "shown" || block.hasDeltas) return [close];
    // Some servers put the whole input into the block's start; a call without arguments has none anywhere, and contains no text.
    if (block.input !== "{}") meter.produced(block.input);
    return [{ type: "arguments", index, text: block.input }, close];
  }

  /** @throws GatewayError `upstream_error` for an answer whose only text is in deltas that the protocol does not have. */
  function finish(): AnswerEvent[] {
    if (hasUnread && meter.outputBytes() === 0)
      throw new GatewayError(
        "upstream_error",
        "The model server's answer has text only in events that the Messages API does not define.",
      );
    const closed = [...open.keys()].flatMap(closeBlock);
    const reported = stop?.stopReason ?? null;
    if (reported !== null && isUnknownReason(reported)) meter.noteUnknownReason(reported);
    const reason = readStopReason(reported);
    const stopSequence = reason === "stop_sequence" ? (stop?.stopSequence ?? null) : null;
    const ending = { reason, stopSequence, explanation: stop?.explanation ?? null };
    return [...closed, { type: "stop", ending, usage: meter.final().usage }];
  }

  return {
    hasKeepAliveComments: false,
    // Text next to an answer that arrives as a tool's input waits, and may be omitted.
    ...(unwrap === null && { skimming: { findText: findDeltaText, passed: meter.producedBytes } }),
    isFinished: () => false,
    read(event) {
      const parsed = parseEvent(event, { reader: context, positions });
      return parsed === null ? [] : take(parsed);
    },
    readWhole: (json) => eventsOf(parseAnswer(Buffer.from(json), context)).flatMap(take),
    end: () => [],
    limit() {
      stop = { stopReason: "max_tokens", stopSequence: null, explanation: null };
      return started(finish());
    },
  };
}
