import type { Interface } from "../../contract/protocol.ts";

/** The interfaces in people's words. */
export const INTERFACE_NAMES = {
  chat: "Chat completions",
  messages: "Messages",
  responses: "Responses",
  embeddings: "Embeddings",
} as const satisfies Record<Interface, string>;
