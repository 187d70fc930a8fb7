/** What a model can do beyond text, as its administrator states it; `embeddings` follows from its interface. */
export const CAPABILITIES = ["tools", "images", "files", "reasoning", "structured_outputs", "embeddings"] as const;
export type Capability = (typeof CAPABILITIES)[number];
