import type { Interface } from "../../contract/protocol.ts";

/** The interfaces in people's words. */
export const INTERFACE_NAMES = {
  chat: "Chat completions",
  messages: "Messages",
  responses: "Responses",
} as const satisfies Record<Interface, string>;
