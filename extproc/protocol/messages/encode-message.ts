import { encodeJson, RawJson, type Encodable } from "../json/raw.ts";
import { ANSWER_BOUNDS, parseWithin } from "../json/bounds.ts";
import { isObject } from "../json/object.ts";
import type { BlockStart, MessagesEvent } from "./encode-event.ts";

/**
 * The message that a client would assemble from these events: a complete answer is the sum of its stream, so the two always
 * agree. A tool's input keeps its digits and order, because its text is never re-written.
 */
export function encodeMessage(events: readonly MessagesEvent[]): Buffer {
  let message: { [name: string]: Encodable } = {};
  const blocks: OpenBlock[] = [];
  for (const event of events) {
    switch (event.type) {
      case "message_start":
        message = { ...event.message, usage: { ...event.message.usage } };
        break;
      case "content_block_start":
        blocks.push({ start: event.content_block, text: "", signature: "" });
        break;
      case "content_block_delta":
        append(blocks[event.index], event.delta);
        break;
      case "message_delta":
        message = { ...message, ...event.delta, usage: { ...event.usage } };
        break;
      case "content_block_stop":
      case "message_stop":
      case "ping":
        break;
    }
  }
  return Buffer.from(encodeJson({ ...message, content: blocks.map(encodeBlock) }));
}

interface OpenBlock {
  start: BlockStart;
  text: string;
  signature: string;
}

function append(block: OpenBlock | undefined, delta: Extract<MessagesEvent, { type: "content_block_delta" }>["delta"]): void {
  if (block === undefined) throw new Error("a delta came before its block");
  switch (delta.type) {
    case "text_delta":
      block.text += delta.text;
      break;
    case "thinking_delta":
      block.text += delta.thinking;
      break;
    case "input_json_delta":
      block.text += delta.partial_json;
      break;
    case "signature_delta":
      block.signature = delta.signature;
      break;
  }
}

function encodeBlock({ start, text, signature }: OpenBlock): Encodable {
  switch (start.type) {
    case "text":
      return { type: "text", text };
    case "thinking":
      return { type: "thinking", thinking: text, signature };
    case "redacted_thinking":
      return { type: "redacted_thinking", data: start.data };
    case "tool_use":
      return { type: "tool_use", id: start.id, name: start.name, input: encodeInput(text) };
  }
}

/** `input` must be an object; text that is not one (cut off by max_tokens) is kept where a client can see it. */
export function encodeInput(text: string): Encodable {
  try {
    const parsed = parseWithin(text, ANSWER_BOUNDS);
    if (isObject(parsed)) return new RawJson(text);
  } catch {
    // Shown as received: only the model can say what it meant.
  }
  return { _raw: text };
}
