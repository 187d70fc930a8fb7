import * as z from "zod";

/**
 * What one upstream server accepts and emits beyond its protocol's common core. A Model's backend names
 * a preset and may override single flags; the operator resolves both into the catalogue.
 */
export const profileSchema = z.strictObject({
  /** Chat: the field that carries the output limit. */
  maxTokensField: z.enum(["max_tokens", "max_completion_tokens"]),
  /** Chat: where reasoning text is found and sent back. */
  reasoningField: z.enum(["reasoning_content", "reasoning", "none"]),
  /** Chat: whether earlier reasoning is sent back in history. */
  reasoningHistory: z.enum(["always", "tool-turns", "never"]),
  /** How a wish for (no) thinking is expressed. */
  thinkingControl: z.enum(["reasoning_effort", "thinking_type", "chat_template_kwargs", "adaptive", "budget", "none"]),
  /** Chat: whether a system message may stand after the first. */
  systemAnywhere: z.boolean(),
  /** Chat: whether `system` content may be an array of parts. */
  systemParts: z.boolean(),
  /** Chat: whether a tool message may hold images. */
  imageInToolResult: z.boolean(),
  /** Chat: whether `file` parts (PDF) are understood. */
  files: z.boolean(),
  /** Chat: asks for usage on every chunk, so that a cut stream has exact counts. */
  continuousUsage: z.boolean(),
  /** Sampling fields that the server rejects; they are dropped and named. */
  rejects: z.array(z.enum(["temperature", "top_p", "top_k", "parallel_tool_calls", "seed", "stop"])),
  /** Which tool ids the server accepts. */
  toolIds: z.enum(["any", "openai40", "messages"]),
  /** Messages: `input_tokens` already holds the cached ones. */
  usageInclusive: z.boolean(),
  /** Chat: `completion_tokens` leaves reasoning out. */
  reasoningExcluded: z.boolean(),
});
export type Profile = z.infer<typeof profileSchema>;

const COMMON: Profile = {
  maxTokensField: "max_tokens",
  reasoningField: "reasoning_content",
  reasoningHistory: "always",
  thinkingControl: "reasoning_effort",
  systemAnywhere: true,
  systemParts: false,
  imageInToolResult: false,
  files: false,
  continuousUsage: false,
  rejects: [],
  toolIds: "any",
  usageInclusive: false,
  reasoningExcluded: false,
};

/** Presets by the kind of server behind a backend. */
export const PROFILES = {
  generic: COMMON,
  vllm: { ...COMMON, continuousUsage: true, systemAnywhere: false, thinkingControl: "chat_template_kwargs" },
  sglang: { ...COMMON, continuousUsage: true, systemAnywhere: false, thinkingControl: "chat_template_kwargs" },
  deepseek: { ...COMMON, thinkingControl: "thinking_type" },
  openai: {
    ...COMMON,
    maxTokensField: "max_completion_tokens",
    reasoningField: "none",
    reasoningHistory: "never",
    systemParts: true,
    files: true,
    toolIds: "openai40",
  },
  anthropic: { ...COMMON, thinkingControl: "adaptive", toolIds: "messages" },
} as const satisfies Record<string, Profile>;

export type ProfileName = keyof typeof PROFILES;
export const PROFILE_NAMES = [
  "generic",
  "vllm",
  "sglang",
  "deepseek",
  "openai",
  "anthropic",
] as const satisfies readonly ProfileName[];
