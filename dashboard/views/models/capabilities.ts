import type { Capability } from "../../../contract/capability.ts";

const NAMES = {
  tools: "Tools",
  images: "Images",
  files: "PDF files",
  reasoning: "Reasoning",
  structured_outputs: "Structured outputs",
  embeddings: "Embeddings",
  rerank: "Rerank",
  image_generation: "Image generation",
  speech: "Speech",
  transcription: "Transcription",
} as const satisfies Record<Capability, string>;

export function capabilityNames(capabilities: readonly Capability[]): string[] {
  return capabilities.map((each) => NAMES[each]);
}
