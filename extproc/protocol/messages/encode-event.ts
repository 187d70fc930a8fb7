import { encodeError, type GatewayError } from "../../../contract/errors.ts";
import type { Usage } from "../../../contract/usage.ts";
import { encodeSseEvent } from "../sse.ts";
import { encodeMessagesUsage, type EncodedUsage } from "./encode-usage.ts";

/** The events of a messages stream in wire form: those that a translated answer needs. */
export type MessagesEvent =
  | { type: "message_start"; message: MessageStart }
  | { type: "content_block_start"; index: number; content_block: BlockStart }
  | { type: "content_block_delta"; index: number; delta: BlockDelta }
  | { type: "content_block_stop"; index: number }
  | { type: "message_delta"; delta: Stop; usage: EncodedUsage }
  | { type: "message_stop" }
  | { type: "ping" };

interface MessageStart {
  id: string;
  type: "message";
  role: "assistant";
  model: string;
  content: [];
  stop_reason: null;
  stop_sequence: null;
  usage: EncodedUsage;
}

export type BlockStart =
  | { type: "text"; text: "" }
  | { type: "thinking"; thinking: ""; signature: "" }
  | { type: "redacted_thinking"; data: string }
  | { type: "tool_use"; id: string; name: string; input: Record<string, never> };

type BlockDelta =
  | { type: "text_delta"; text: string }
  | { type: "thinking_delta"; thinking: string }
  | { type: "signature_delta"; signature: string }
  | { type: "input_json_delta"; partial_json: string };

export interface Stop {
  stop_reason: "end_turn" | "max_tokens" | "stop_sequence" | "tool_use" | "refusal";
  stop_sequence: string | null;
  /** Only with a refusal. */
  stop_details?: { type: "refusal"; category: null; explanation: string | null };
}

/** The start of a message that has no content yet. */
export function messageStart({ id, model, usage }: { id: string; model: string; usage: Usage }): MessagesEvent {
  return {
    type: "message_start",
    message: {
      id,
      type: "message",
      role: "assistant",
      model,
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: encodeMessagesUsage(usage),
    },
  };
}

/** SDKs dispatch on the `event:` line; `data.type` repeats the name. */
export function encodeMessagesEvent(event: MessagesEvent): string {
  return encodeSseEvent(event.type, JSON.stringify(event));
}

/** The event that ends a stream which can't be finished; nothing follows it (S22). */
export function encodeMessagesErrorEvent(error: GatewayError, requestId: string): string {
  return encodeSseEvent("error", JSON.stringify(encodeError("messages", error, requestId)));
}
