import type { Interface } from "../../contract/protocol.ts";
import type { OrOther } from "../../ledger/postgres/known-or-other.ts";

/** Display names of the interfaces. */
export const INTERFACE_NAMES = {
  chat: "Chat completions",
  messages: "Messages",
  responses: "Responses",
  embeddings: "Embeddings",
  rerank: "Rerank",
  image_generation: "Image generation",
  speech: "Speech",
  transcription: "Transcription",
  other: "Other",
} as const satisfies Record<OrOther<Interface>, string>;
