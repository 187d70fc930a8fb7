import type { Interface } from "../../contract/protocol.ts";

/** The interfaces in people's words. */
export const INTERFACE_NAMES = {
  chat: "chat completions",
  messages: "messages",
  responses: "responses",
} as const satisfies Record<Interface, string>;
