import type { JsonObject } from "../translation.ts";

/** What becomes of a chat request's field on its way to a messages upstream. */
export interface FieldPolicy {
  readonly field: string;
  /**
   * "map": the same meaning in the other protocol. "emulate": the meaning by other means. "drop": left out, named
   * in `x-gateway-dropped`. "reject": a 400 that names the field, because leaving it out would change the answer.
   */
  readonly action: "map" | "emulate" | "drop" | "reject";
  readonly note: string;
  /** A value that the action applies to; the test of this table sends it. */
  readonly example: unknown;
  /** Values that ask for nothing: neither named nor refused. Null always is one. */
  readonly neutral?: readonly unknown[];
}

/** Every top-level field of a chat request. A field that is not here is unknown to chat and is dropped, named. */
export const FIELD_POLICIES = [
  map("model", "the name that the upstream knows; the client reads its own name back", "modelx-v4-pro"),
  map("messages", "system and turns; see the table of messages", [{ role: "user", content: "hi" }]),
  map("max_completion_tokens", "max_tokens; the model's own limit where the client sets none", 100),
  map("max_tokens", "max_tokens, unless max_completion_tokens is there", 100),
  map("stream", "stream", true),
  map("stream_options", "include_usage decides whether the client sees a usage chunk", { include_usage: true }),
  map("temperature", "clamped to 1; left out (named) while thinking, which allows only 1", 0.5),
  map("top_p", "left out at 1, its default; left out (named) below 0.95 while thinking", 0.9),
  map("top_k", "left out (named) while thinking", 40),
  map("stop", "stop_sequences; sequences of white space alone are left out (named)", ["END"]),
  map("tools", "custom and function tools; parameters go verbatim", [{ type: "function", function: { name: "f" } }]),
  map("tool_choice", "auto, any, tool or none; allowed_tools filters the tools", "auto"),
  map("parallel_tool_calls", "false becomes disable_parallel_tool_use", false),
  map("functions", "tools; answers come back as function_call", [{ name: "f" }]),
  map("function_call", "tool_choice", "auto"),
  emulate("response_format", "json_schema becomes output_config.format; json_object a line of the system prompt", {
    type: "json_object",
  }),
  map("reasoning_effort", "thinking, with an effort or a budget, as the upstream's profile says", "high"),
  map("reasoning", "effort or max_tokens as thinking; exclude hides the reasoning", { effort: "low" }),
  map("thinking", "thinking", { type: "enabled" }),
  map("chat_template_kwargs", "enable_thinking (or thinking) as thinking; other members have no counterpart", {
    enable_thinking: false,
  }),
  map("user", "metadata.user_id; hashed where it could be an address or a phone number", "user-17"),
  map("safety_identifier", "metadata.user_id, unless user is there", "user-17"),
  map("service_tier", "default becomes standard_only; auto is what both do; others are left out (named)", "default"),
  map("prompt_cache_retention", "24h makes cache marks last an hour", "24h"),
  map("n", "1 is what a message is; more is refused", 1),
  reject("audio", "messages has no audio", { voice: "alloy", format: "wav" }),
  reject("modalities", "anything but text is refused", ["text", "audio"], [["text"], []]),
  reject("logprobs", "messages has no log probabilities", true, [false]),
  reject("top_logprobs", "messages has no log probabilities", 2, [0]),
  reject("web_search_options", "the gateway's prices cover tokens, not searches", {}),
  drop("frequency_penalty", "no counterpart", 0.5, [0]),
  drop("presence_penalty", "no counterpart", 0.5, [0]),
  drop("repetition_penalty", "no counterpart", 1.1, [1]),
  drop("min_p", "no counterpart", 0.1, [0]),
  drop("logit_bias", "no counterpart", { "50256": -100 }, [{}]),
  drop("seed", "sampling cannot be repeated", 7),
  drop("verbosity", "no counterpart", "low", ["medium"]),
  drop("prediction", "only ever saves time", { type: "content", content: "x" }),
  drop("store", "nothing is stored", true, [false]),
  drop("metadata", "belongs to stored answers", { a: "b" }, [{}]),
  drop("prompt_cache_key", "messages caches by content", "key"),
  drop("prompt_cache_options", "messages caches by content", {}),
  drop("moderation", "no counterpart", {}),
] as const satisfies readonly FieldPolicy[];

const POLICY_OF: ReadonlyMap<string, FieldPolicy> = new Map(FIELD_POLICIES.map((policy) => [policy.field, policy]));
const MAX_NAME_LENGTH = 64;
const MAX_UNKNOWN_NAMES = 16;

/** Fields of this request that the table drops, and those that it does not know: messages servers refuse unknown ones. */
export function droppedFields(parsed: JsonObject): string[] {
  const present = Object.entries(parsed).filter(([, value]) => value !== undefined);
  const dropped = present.filter(([field, value]) => POLICY_OF.get(field)?.action === "drop" && !isNeutral(field, value));
  const unknown = present.filter(([field]) => !POLICY_OF.has(field)).map(([field]) => headerSafe(field));
  return [...dropped.map(([field]) => field), ...unknown.slice(0, MAX_UNKNOWN_NAMES)];
}

/** Fields of this request that the table refuses. */
export function rejectedFields(parsed: JsonObject): FieldPolicy[] {
  return Object.entries(parsed).flatMap(([field, value]) => {
    const policy = POLICY_OF.get(field);
    return policy?.action === "reject" && !isNeutral(field, value) ? [policy] : [];
  });
}

function isNeutral(field: string, value: unknown): boolean {
  if (value === null) return true;
  const neutral = POLICY_OF.get(field)?.neutral ?? [];
  // Neutral values are small, so a deep client value is told apart by its type or size before it is walked.
  return neutral.some((candidate) => isSmallEqual(candidate, value));
}

function isSmallEqual(neutral: unknown, value: unknown): boolean {
  if (Array.isArray(neutral)) {
    return Array.isArray(value) && value.length === neutral.length && neutral.every((element, index) => element === value[index]);
  }
  if (typeof neutral === "object" && neutral !== null) {
    return typeof value === "object" && value !== null && !Array.isArray(value) && Object.keys(value).length === 0;
  }
  return neutral === value;
}

/** The name goes into a response header, so only plain characters of it do. */
function headerSafe(field: string): string {
  return field.slice(0, MAX_NAME_LENGTH).replaceAll(/[^\w.-]/g, "?");
}

function map(field: string, note: string, example: unknown): FieldPolicy {
  return { field, action: "map", note, example };
}

function emulate(field: string, note: string, example: unknown): FieldPolicy {
  return { field, action: "emulate", note, example };
}

function drop(field: string, note: string, example: unknown, neutral: readonly unknown[] = []): FieldPolicy {
  return { field, action: "drop", note, example, neutral };
}

function reject(field: string, note: string, example: unknown, neutral: readonly unknown[] = []): FieldPolicy {
  return { field, action: "reject", note, example, neutral };
}
