/** The two wire formats: OpenAI's chat completions and Anthropic's messages (S1, S2). */
export const PROTOCOLS = ["chat", "messages"] as const;
export type Protocol = (typeof PROTOCOLS)[number];
