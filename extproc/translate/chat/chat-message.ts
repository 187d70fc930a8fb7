import type { Encodable } from "../../protocol/json/raw.ts";

/** A message as it goes to a chat upstream; members are written in the order in which they stand here. */
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

// A type, not an interface: only types are JSON to the encoder.
export type ChatToolCall = {
  id: string;
  type: "function";
  function: { name: string; arguments: string };
  extra_content?: { google: { thought_signature: string } };
};
