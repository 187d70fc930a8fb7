/** What a model can do beyond text, as its administrator states it. */
export const CAPABILITIES = ["tools", "images", "files", "reasoning", "structured_outputs"] as const;
export type Capability = (typeof CAPABILITIES)[number];
