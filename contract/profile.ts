import * as z from "zod";

/** Reasoning efforts of all protocols together. "none" switches thinking off. */
export const EFFORTS = ["none", "minimal", "low", "medium", "high", "xhigh", "max"] as const;
export type Effort = (typeof EFFORTS)[number];

/** Answer lengths in chat and Responses. */
export const VERBOSITIES = ["low", "medium", "high"] as const;
export type Verbosity = (typeof VERBOSITIES)[number];
/** Settings that every server supports. */
export const DEFAULT_VERBOSITY = "medium" satisfies Verbosity;

/** The flags that a Model's backend may set beside its preset. An absent flag has no default here: the preset decides. */
export const profileFlagsSchema = z.strictObject({
  maxTokensField: z.enum(["max_tokens", "max_completion_tokens"]).describe("Chat: the field that carries the output limit."),
  reasoningField: z
    .enum(["reasoning_content", "reasoning", "none"])
    .describe("Chat: the field for reasoning text, in answers and in history."),
  reasoningHistory: z
    .enum(["always", "tool-turns", "never"])
    .describe(
      'Chat: whether earlier reasoning is sent back in history; "tool-turns" sends it with tool calls, empty if none is known.',
    ),
  thinkingControl: z
    .enum(["reasoning_effort", "thinking_type", "chat_template_kwargs", "adaptive", "budget", "none"])
    .describe("How thinking is switched on or off."),
  systemAnywhere: z.boolean().describe("Chat: whether system messages are allowed after the first message."),
  systemTurns: z
    .boolean()
    .describe("Messages: whether a turn of role system may follow a user turn; otherwise its text joins the user turn."),
  systemParts: z.boolean().describe("Chat: whether `system` content may be an array of parts."),
  imageInToolResult: z.boolean().describe("Chat: whether a tool message may contain images."),
  files: z.boolean().describe("Chat: whether `file` parts (PDF) are understood."),
  continuousUsage: z.boolean().describe("Chat: asks for usage on every chunk, so that a cut stream has exact counts."),
  rejects: z
    .array(
      z.enum(["temperature", "top_p", "top_k", "parallel_tool_calls", "seed", "stop", "user", "service_tier", "stream_options"]),
    )
    .describe(
      "Fields that the server rejects; they are dropped and listed. `stream_options`, which Mistral rejects, is left out of every chat stream: such a server must report its usage unasked, or the gateway estimates it.",
    ),
  accepts: z
    .array(z.enum(["verbosity", "prompt_cache_key", "prompt_cache_retention", "safety_identifier"]))
    .describe(
      "Fields of chat and Responses that only some servers accept; for other servers they are dropped and listed, and `safety_identifier` is sent as `user`.",
    ),
  minOutputTokens: z
    .int()
    .positive("must be a whole number above 0")
    .nullable()
    .describe("Responses: the smallest output limit that the server accepts; null for none. A lower one is refused."),
  toolIds: z.enum(["any", "openai40", "messages"]).describe("Which tool ids the server accepts."),
  usageInclusive: z.boolean().describe("Messages: whether `input_tokens` already includes cached tokens."),
  reasoningExcluded: z.boolean().describe("Chat: whether `completion_tokens` excludes reasoning."),
  efforts: z
    .partialRecord(z.enum(EFFORTS), z.string().min(1))
    .describe("Chat: effort values that the server calls differently; others are sent unchanged."),
  contentParts: z
    .boolean()
    .describe(
      "Chat: whether the content of a message may be an array of text parts; otherwise texts are joined with line feeds.",
    ),
  maxStopSequences: z
    .int()
    .positive("must be a whole number above 0")
    .nullable()
    .describe("Chat: how many stop sequences the server accepts; null for no limit."),
  prefill: z
    .enum(["continue_final_message", "prefix", "refuse"])
    .describe(
      'Chat: how a last message of the assistant is continued instead of answered. vLLM and SGLang take `continue_final_message`, DeepSeek\'s beta base path takes `prefix`; "refuse" answers 400.',
    ),
  jsonSchema: z
    .enum(["native", "json_object", "instruct", "tool"])
    .describe(
      "How a response schema is requested: in the protocol's own field, by an instruction, for chat together with `json_object`, for messages by a tool that the model must call, whose input is the answer.",
    ),
  remindersInToolResult: z
    .boolean()
    .describe(
      "Chat: `<system-reminder>` texts after tool results go into the last tool message, because the server's chat template forgets reasoning when a user message follows.",
    ),
  argumentSnapshots: z
    .boolean()
    .describe("Chat: whether each streamed chunk repeats the tool arguments so far instead of only adding to them."),
  unpricedFeatures: z
    .boolean()
    .describe(
      "Whether requests may use what the server may bill beyond the Model's prices for tokens: tools that it runs itself, searches, and context windows beyond the Model's. The gateway charges tokens only. For clients of the server's own protocol; translations refuse such features.",
    ),
});

/**
 * What one upstream server accepts and emits beyond its protocol's common core. A Model's backend names
 * a preset and may override single flags; the operator resolves both into the catalogue.
 */
export const profileSchema = profileFlagsSchema.extend({
  // Catalogue rows of earlier versions lack these.
  accepts: profileFlagsSchema.shape.accepts.default([]),
  minOutputTokens: profileFlagsSchema.shape.minOutputTokens.default(null),
  unpricedFeatures: profileFlagsSchema.shape.unpricedFeatures.default(false),
});
export type Profile = z.infer<typeof profileSchema>;

const COMMON: Profile = {
  maxTokensField: "max_tokens",
  reasoningField: "reasoning_content",
  reasoningHistory: "always",
  thinkingControl: "reasoning_effort",
  systemAnywhere: true,
  systemTurns: false,
  systemParts: false,
  imageInToolResult: false,
  files: false,
  continuousUsage: false,
  rejects: ["user", "service_tier"],
  accepts: [],
  minOutputTokens: null,
  toolIds: "any",
  usageInclusive: false,
  reasoningExcluded: false,
  efforts: { minimal: "low", xhigh: "high", max: "high" },
  contentParts: true,
  maxStopSequences: null,
  prefill: "refuse",
  jsonSchema: "native",
  remindersInToolResult: false,
  argumentSnapshots: false,
  unpricedFeatures: false,
};

/** Common settings of servers that run open models with their own chat templates. */
const TEMPLATED: Profile = {
  ...COMMON,
  continuousUsage: true,
  systemAnywhere: false,
  thinkingControl: "chat_template_kwargs",
  prefill: "continue_final_message",
  remindersInToolResult: true,
};

/** Presets by the kind of server behind a backend. */
export const PROFILES = {
  generic: COMMON,
  vllm: TEMPLATED,
  sglang: TEMPLATED,
  deepseek: {
    ...COMMON,
    thinkingControl: "thinking_type",
    reasoningHistory: "tool-turns",
    rejects: ["top_k", "user", "service_tier"],
    efforts: { minimal: "low", medium: "high", xhigh: "high" },
    contentParts: false,
    maxStopSequences: 16,
    jsonSchema: "json_object",
  },
  openai: {
    ...COMMON,
    maxTokensField: "max_completion_tokens",
    reasoningField: "none",
    reasoningHistory: "never",
    systemParts: true,
    files: true,
    rejects: ["top_k"],
    accepts: ["verbosity", "prompt_cache_key", "prompt_cache_retention", "safety_identifier"],
    minOutputTokens: 16,
    toolIds: "openai40",
    efforts: {},
    maxStopSequences: 4,
  },
  anthropic: { ...COMMON, thinkingControl: "adaptive", rejects: [], toolIds: "messages" },
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
