import { NO_USAGE, type Usage } from "../../../contract/usage.ts";
import { isCount } from "../../protocol/json/count.ts";
import { encodeMessage } from "../../protocol/messages/encode-message.ts";
import {
  encodeMessagesErrorEvent,
  encodeMessagesEvent,
  messageStart,
  type BlockStart,
  type MessagesEvent,
} from "../../protocol/messages/encode-event.ts";
import { encodeMessagesUsage } from "../../protocol/messages/encode-usage.ts";
import type { AnswerWriter, StreamWriter } from "../conversation/answer.ts";
import type { AnswerEvent, GrowthEvent, OpenedBlock } from "../conversation/answer-event.ts";
import { messageId } from "../conversation/ids.ts";
import { createSigner, type Signer } from "../conversation/signature.ts";
import { writeStopReason } from "./stop-reason.ts";

export interface WriteContext {
  /** The name that the client asked for. */
  model: string;
  requestId: string;
}

/** Answers for a messages client. */
export function createAnswerWriter(context: WriteContext): AnswerWriter {
  return {
    stream: () => createStreamWriter(context),
    whole: (events) => encodeMessage(events.flatMap(createEventWriter(context))),
  };
}

function createStreamWriter(context: WriteContext): StreamWriter {
  const write = createEventWriter(context);
  return {
    write(event) {
      if (event.type === "text") return `${textFrame(event.index).before}${JSON.stringify(event.text).slice(1, -1)}${TEXT_END}`;
      return write(event).map(encodeMessagesEvent).join("");
    },
    fail: (error) => encodeMessagesErrorEvent(error, context.requestId),
    cutOff: "The model server's answer ended before it was complete. Try again.",
    textFrame,
  };
}

/** Most events are pieces of text: the same bytes around another string. */
const TEXT_END = '"}}\n\n';

function textFrame(index: number): { before: string; after: string } {
  return {
    before: `event: content_block_delta\ndata: {"type":"content_block_delta","index":${index},"delta":{"type":"text_delta","text":"`,
    after: TEXT_END,
  };
}

function createEventWriter({ model, requestId }: WriteContext): (event: AnswerEvent) => MessagesEvent[] {
  let hasCalls = false;
  /** Of thinking that is open and unsigned, by its block: messages' clients send back nothing unsigned. */
  const signers = new Map<number, Signer>();

  return (event) => {
    switch (event.type) {
      case "start":
        return [start(event)];
      case "open":
        if (event.block.type === "thinking") signers.set(event.index, createSigner(model));
        hasCalls ||= event.block.type === "tool_call";
        return [{ type: "content_block_start", index: event.index, content_block: blockStart(event.block) }];
      case "text":
      case "refusal":
      case "thinking":
      case "arguments":
        if (event.type === "thinking") signers.get(event.index)?.add(event.text);
        return [{ type: "content_block_delta", index: event.index, delta: deltaOf(event) }];
      case "signature":
        signers.delete(event.index);
        return [signature(event.index, event.signature)];
      case "citations":
        return [];
      case "close":
        return [...sign(event.index), { type: "content_block_stop", index: event.index }];
      case "stop":
        return [
          { type: "message_delta", delta: writeStopReason(event.ending, hasCalls), usage: encodeMessagesUsage(event.usage) },
          { type: "message_stop" },
        ];
      case "ping":
        return [{ type: "ping" }];
      case "error":
        throw event.error;
    }
  };

  function sign(index: number): MessagesEvent[] {
    const signer = signers.get(index);
    signers.delete(index);
    return signer === undefined ? [] : [signature(index, signer.sign())];
  }

  function start({ id, usage }: Extract<AnswerEvent, { type: "start" }>): MessagesEvent {
    // Zero until the server has counted, or if its count is implausible: clients keep a number that is too high.
    return messageStart({ id: messageId(id, requestId), model, usage: { ...NO_USAGE, ...(isCounted(usage) ? usage : {}) } });
  }
}

function isCounted(usage: Partial<Usage>): boolean {
  return Object.values(usage).every(isCount);
}

function blockStart(block: OpenedBlock): BlockStart {
  switch (block.type) {
    case "text":
    case "refusal":
      return { type: "text", text: "" };
    case "thinking":
      return { type: "thinking", thinking: "", signature: "" };
    case "redacted_thinking":
      return block;
    case "tool_call":
      return { type: "tool_use", id: block.id, name: block.name, input: {} };
  }
}

function deltaOf({ type, text }: GrowthEvent): Extract<MessagesEvent, { type: "content_block_delta" }>["delta"] {
  switch (type) {
    case "text":
    case "refusal":
      return { type: "text_delta", text };
    case "thinking":
      return { type: "thinking_delta", thinking: text };
    case "arguments":
      return { type: "input_json_delta", partial_json: text };
  }
}

function signature(index: number, signed: string): MessagesEvent {
  return { type: "content_block_delta", index, delta: { type: "signature_delta", signature: signed } };
}
