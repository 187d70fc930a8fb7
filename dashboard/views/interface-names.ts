import type { Interface } from "../../contract/protocol.ts";

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
} as const satisfies Record<Interface, string>;
