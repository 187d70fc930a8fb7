/** Capabilities beyond text, as the administrator states them; `embeddings` follows from the interface. */
export const CAPABILITIES = ["tools", "images", "files", "reasoning", "structured_outputs", "embeddings"] as const;
export type Capability = (typeof CAPABILITIES)[number];
