import { GatewayError } from "../../../contract/errors.ts";
import type { Usage } from "../../../contract/usage.ts";
import type { AnswerBlock, Citation } from "../../protocol/messages/answer-block.ts";
import type { AnswerDelta, AnswerEvent } from "../../protocol/messages/answer-event.ts";
import { createEventEncoder, type PartEvent } from "../../protocol/responses/event.ts";
import type { ItemStatus, OutputItem } from "../../protocol/responses/output-item.ts";
import { encodeResponse, type ResponseHead, type ResponseState } from "../../protocol/responses/response.ts";
import { createAnswerUnwrapper } from "../chat-via-messages/answer-tool.ts";
import { createCallIds } from "../chat-via-messages/answer.ts";
import { plainToolId } from "../ids.ts";
import { isGatewaySignature } from "../signature.ts";
import { limitOf } from "./finish.ts";
import {
  openCustomCall,
  openFunctionCall,
  openMessage,
  openReasoning,
  openRefusal,
  type OpenItem,
  type OpenMessage,
} from "./open-item.ts";
import type { AnswerFacts } from "./request.ts";
import { encodeThought } from "./thought.ts";

/** Turns a message's events into a Responses stream, event by event. Its text is what a client of a stream gets. */
export interface AnswerMachine {
  /** Not to be called once the machine has ended. */
  accept(event: AnswerEvent): string;
  fail(error: GatewayError): string;
  readonly hasEnded: boolean;
  /** The whole response: what the stream's last event has. @throws GatewayError what the answer failed with. */
  response(): Buffer;
}

export interface MachineFacts {
  facts: AnswerFacts;
  requestId: string;
  nowSeconds: number;
  /** What is charged, as far as it is known (S28). */
  usage(): Usage;
}

/** A block between its start and its stop, with the item that it goes into. */
type OpenBlock =
  | { type: "text"; start: number; citations: Citation[] }
  | ThinkingBlock
  | { type: "tool_use"; item: OpenItem; input: string; hasDeltas: boolean }
  | { type: "other" };

interface ThinkingBlock {
  type: "thinking";
  /** Null until there is something to show or to send back. */
  item: OpenItem | null;
  thinking: string;
  signature: string;
}

interface Slot {
  open: OpenItem;
  /** Its last piece has come: the next item, or the end, closes it. */
  isOver: boolean;
}

export function createAnswerMachine({ facts, requestId, nowSeconds, usage }: MachineFacts): AnswerMachine {
  const serial = requestId.replaceAll("-", "");
  const head: ResponseHead = { id: `resp_${serial}`, created: nowSeconds, model: facts.model, echoed: facts.echoed };
  const encoder = createEventEncoder(head);
  const unwrap = facts.answerTool === null ? null : createAnswerUnwrapper(facts.answerTool);
  const callId = createCallIds(requestId);
  const blocks = new Map<number, OpenBlock>();
  /** Items by their place in the output: open ones, then as they were closed. */
  const output: (OutputItem | Slot)[] = [];
  let callCount = 0;
  /** Neighbouring text blocks are one message. */
  let text: { message: OpenMessage; slot: Slot } | undefined;
  let stop: Pick<Extract<AnswerEvent, { type: "message_delta" }>, "stopReason" | "explanation"> | undefined;
  let isStarted = false;
  let end: ResponseState | undefined;

  function accept(event: AnswerEvent): string {
    return unwrap === null ? step(event) : unwrap(event).map(step).join("");
  }

  function step(event: AnswerEvent): string {
    if (end !== undefined) return "";
    switch (event.type) {
      case "message_start":
        return opening();
      case "content_block_start":
        return opening() + startBlock(event.index, event.block);
      case "content_block_delta":
        return opening() + addDelta(event.index, event.delta);
      case "content_block_stop":
        return opening() + stopBlock(event.index);
      case "message_delta":
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

  /** Servers that leave message_start out still get a stream that begins as it must. */
  function opening(): string {
    if (isStarted) return "";
    isStarted = true;
    const state = { status: "in_progress" } as const;
    return encoder.response("created", state, []) + encoder.response("in_progress", state, []);
  }

  function startBlock(index: number, block: AnswerBlock): string {
    switch (block.type) {
      case "text":
        blocks.set(index, { type: "text", start: text?.message.length ?? 0, citations: [...block.citations] });
        return addText(block.text);
      case "thinking":
        blocks.set(index, { type: "thinking", item: null, thinking: "", signature: block.signature });
        return addThinking(index, block.thinking);
      case "redacted_thinking":
        blocks.set(index, { type: "other" });
        return addRedacted(block.data);
      case "tool_use":
        return startCall(index, block);
      case "other":
        blocks.set(index, { type: "other" });
        return "";
    }
  }

  function addDelta(index: number, delta: AnswerDelta): string {
    const block = blocks.get(index);
    switch (delta.type) {
      case "text_delta":
        return addText(delta.text);
      case "thinking_delta":
        return addThinking(index, delta.thinking);
      case "signature_delta":
        if (block?.type === "thinking") block.signature = delta.signature;
        return "";
      case "input_json_delta":
        if (block?.type !== "tool_use" || delta.partialJson === "") return "";
        block.hasDeltas = true;
        return write(block.item.add(delta.partialJson));
      case "citations_delta":
        if (block?.type === "text") block.citations.push(...delta.citations);
        return "";
      case "other":
        return "";
    }
  }

  function addText(piece: string): string {
    if (piece === "") return "";
    if (text !== undefined) return write(text.message.add(piece));
    const closed = closeOver();
    const message = openMessage(nextPlace("msg"));
    text = { message, slot: { open: message, isOver: false } };
    output.push(text.slot);
    return closed + write([...message.opening, ...message.add(piece)]);
  }

  function addThinking(index: number, piece: string): string {
    const block = blocks.get(index);
    if (piece === "" || block?.type !== "thinking") return "";
    block.thinking += piece;
    const opened = block.item === null ? openThinking(block) : "";
    return opened + write(block.item?.add(piece) ?? []);
  }

  function openThinking(block: ThinkingBlock): string {
    const encrypted = () => (facts.wantsEncryptedReasoning ? pack(block) : undefined);
    const item = openReasoning(nextPlace("rs"), encrypted);
    block.item = item;
    return start(item);
  }

  /** The gateway's own signatures say nothing to anyone. */
  function pack({ thinking, signature }: ThinkingBlock): string {
    const isServers = signature !== "" && !isGatewaySignature(signature);
    return encodeThought({ model: facts.thinker, thinking, ...(isServers && { signature }) });
  }

  /** Nobody but its server can read it: it is worth an item only where it can go back. */
  function addRedacted(data: string): string {
    if (!facts.wantsEncryptedReasoning) return "";
    const item = openReasoning(nextPlace("rs"), () => encodeThought({ model: facts.thinker, redacted: data }));
    const opened = start(item);
    markOver(item);
    return opened;
  }

  function startCall(index: number, block: Extract<AnswerBlock, { type: "tool_use" }>): string {
    const name = facts.names.toClient(block.name);
    const tool = facts.clientTools.get(name) ?? { kind: "function", name, namespace: null };
    const call = { callId: callId(plainToolId(block.id), callCount), tool };
    callCount += 1;
    const item = tool.kind === "custom" ? openCustomCall(nextPlace("ctc"), call) : openFunctionCall(nextPlace("fc"), call);
    blocks.set(index, { type: "tool_use", item, input: block.input, hasDeltas: false });
    return start(item);
  }

  function start(item: OpenItem): string {
    const closed = closeOver();
    output.push({ open: item, isOver: false });
    return closed + write(item.opening);
  }

  function stopBlock(index: number): string {
    const block = blocks.get(index);
    blocks.delete(index);
    switch (block?.type) {
      case "text":
        return cite(block);
      case "thinking":
        return stopThinking(block);
      case "tool_use":
        markOver(block.item);
        // Some servers put the whole input into the block's start; a call without arguments has none anywhere.
        return block.hasDeltas ? "" : write(block.item.add(block.input));
      case "other":
      case undefined:
        return "";
    }
  }

  function cite({ start: from, citations }: Extract<OpenBlock, { type: "text" }>): string {
    if (text === undefined) return "";
    const { message } = text;
    const range = { start_index: from, end_index: message.length };
    return citations
      .map(({ url, title }) => write(message.cite({ type: "url_citation", ...range, url, title: title ?? url })))
      .join("");
  }

  /** Thinking that is not shown can still be sent back. */
  function stopThinking(block: ThinkingBlock): string {
    const isWorthAnItem = facts.wantsEncryptedReasoning && block.signature !== "";
    const opened = block.item === null && isWorthAnItem ? openThinking(block) : "";
    if (block.item !== null) markOver(block.item);
    return opened;
  }

  function markOver(item: OpenItem): void {
    for (const slot of output) if ("open" in slot && slot.open === item) slot.isOver = true;
  }

  /** A new item begins: what is over is closed, and so is the message before it. */
  function closeOver(): string {
    if (text !== undefined) text.slot.isOver = true;
    text = undefined;
    return closeSlots((slot) => slot.isOver, "completed");
  }

  function closeSlots(isDue: (slot: Slot) => boolean, status: ItemStatus): string {
    let written = "";
    for (const [index, slot] of output.entries()) {
      if (!("open" in slot) || !isDue(slot)) continue;
      written += write(slot.open.close(status));
      output[index] = slot.open.item(status);
    }
    return written;
  }

  /** What a limit cut off is the last item; those before it are whole. */
  function finish(): string {
    const unstopped = [...blocks.keys()].map(stopBlock).join("");
    const reason = limitOf(stop?.stopReason ?? null);
    const last = output.at(-1);
    const whole = closeSlots((slot) => slot !== last, "completed");
    const rest = closeSlots(() => true, reason === null ? "completed" : "incomplete");
    const explained = reason === "content_filter" && stop?.explanation && output.length === 0 ? explain(stop.explanation) : "";
    end = reason === null ? { status: "completed", usage: usage() } : { status: "incomplete", reason, usage: usage() };
    return unstopped + whole + rest + explained + encoder.response(end.status, end, items());
  }

  function explain(explanation: string): string {
    const item = openRefusal(nextPlace("msg"), explanation);
    const opened = start(item);
    return opened + closeSlots(() => true, "completed");
  }

  /** The error event for clients that read events, the failed response for those that wait for one (S22). */
  function fail(error: GatewayError): string {
    if (end !== undefined) return "";
    const opened = opening();
    end = { status: "failed", error };
    return opened + encoder.error(error) + encoder.response("failed", end, items());
  }

  function items(): OutputItem[] {
    return output.map((slot) => ("open" in slot ? slot.open.item("incomplete") : slot));
  }

  function nextPlace(prefix: "msg" | "rs" | "fc" | "ctc") {
    // A message that is open is closed first, and has its place already.
    const index = output.length;
    return { item_id: `${prefix}_${serial}${index}`, output_index: index };
  }

  function write(events: readonly PartEvent[]): string {
    return events.map(encoder.part).join("");
  }

  return {
    accept,
    fail,
    get hasEnded() {
      return end !== undefined;
    },
    response() {
      if (end === undefined)
        throw new GatewayError("upstream_error", "The model server's answer ended before it was complete. Try again.");
      if (end.status === "failed") throw end.error;
      return Buffer.from(encodeResponse(head, end, items()));
    },
  };
}
