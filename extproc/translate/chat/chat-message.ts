import type { Encodable } from "../../protocol/json/raw.ts";

/** A message in the form for a chat upstream; members are written in this order. */
export type ChatMessage =
  | { role: "system"; content: Encodable }
  | { role: "user"; content: Encodable }
  | {
      role: "assistant";
      content: Encodable;
      reasoning_content?: string;
      reasoning?: string;
      tool_calls?: ChatToolCall[];
      prefix?: true;
    }
  | { role: "tool"; tool_call_id: string; content: Encodable };

// A type, not an interface: only types count as JSON for the encoder.
export type ChatToolCall = {
  id: string;
  type: "function";
  function: { name: string; arguments: string };
  extra_content?: { google: { thought_signature: string } };
};
