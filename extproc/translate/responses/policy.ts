import { drop, map, reject, type Policy } from "../policy.ts";

/** Every top-level field. A field that is not listed is unknown and is dropped by name. */
export const FIELD_POLICIES = [
  map("model", "the name on the model server; the client gets its own name back", "modelx-v4-pro"),
  map("input", "a string is one user message; see the next table", [{ role: "user", content: "hello" }]),
  map("instructions", "the first part of the system prompt", "be brief"),
  map("stream", "stream", true),
  map("max_output_tokens", "the output limit; the model's own if the client sets none", 100),
  map("temperature", "unchanged; for messages servers at most 1, and dropped (listed) while thinking", 0.5, {
    droppedBy: { rejects: ["temperature"] },
  }),
  map("top_p", "unchanged; for messages servers left out at 1, and dropped (listed) below 0.95 while thinking", 0.9, {
    droppedBy: { rejects: ["top_p"] },
  }),
  map("tools", "functions; see the next table", [{ type: "function", name: "g", parameters: { type: "object" } }]),
  map("tool_choice", "auto, required, none, a function or custom tool; allowed_tools filters the tools", "required"),
  map("parallel_tool_calls", "false asks for one call at a time", false, {
    droppedBy: { rejects: ["parallel_tool_calls"] },
    neutral: [true],
  }),
  map(
    "reasoning",
    "effort in the server's own words (`thinkingControl`); the model's reasoning is returned as the summary, whether requested or not",
    { effort: "high" },
    { droppedBy: { thinkingControl: "none" }, neutral: [{}] },
  ),
  map(
    "text",
    "format json_schema, with name and description, and json_object by the server's method (`jsonSchema`)",
    { format: { type: "json_schema", name: "n", schema: { type: "object" } } },
    { neutral: [{}] },
  ),
  map("include", "reasoning.encrypted_content returns reasoning in a form that can be sent back", [
    "reasoning.encrypted_content",
  ]),
  map("metadata", "returned in the response", { a: "b" }, { neutral: [{}] }),
  map("user", "names the end user to the server; hashed if it could be an address or a phone number", "user-17", {
    droppedBy: { rejects: ["user"] },
  }),
  map("safety_identifier", "unchanged if `accepts` lists it; else as user, unless user is set", "user-17", {
    droppedBy: { rejects: ["user"], accepts: [] },
  }),
  map(
    "service_tier",
    "default; auto is every server's default; others are dropped (listed), because a backend has one tier",
    "default",
    { neutral: ["auto"], droppedBy: { rejects: ["service_tier"] } },
  ),
  map("prompt_cache_key", "unchanged for chat servers", "key", {
    droppedBy: { accepts: [] },
    lostTo: { messages: "messages caches by content" },
  }),
  map("prompt_cache_retention", "unchanged for chat servers", "24h", {
    neutral: ["in_memory"],
    droppedBy: { accepts: [] },
    lostTo: { messages: "the server decides" },
  }),
  reject("store", "this model stores no responses. Send false, or leave it out: it counts as false", true, [false]),
  reject("previous_response_id", "this model stores no responses. Send the whole conversation in `input`", "resp_1"),
  reject("conversation", "no conversations are stored here. Send the whole conversation in `input`", "conv_1"),
  reject(
    "background",
    "a response is created while its request is open. Leave it out, and set `stream` for long responses",
    true,
    [false],
  ),
  reject("prompt", "no prompt templates are stored here. Send the text in `instructions` and `input`", { id: "pmpt_1" }),
  reject("top_logprobs", "log probabilities are not available. Leave it out", 2, [0]),
  drop("truncation", "conversations are never truncated: one that is too long is refused", "auto", ["disabled"]),
  drop("context_management", "the client sends the context that it wants", [{ type: "compaction" }]),
  drop("max_tool_calls", "limits calls of tools that the service runs, and the gateway runs none", 3),
  drop("stream_options", "events are not padded", { include_obfuscation: true }, [{}, { include_obfuscation: false }]),
  drop("prompt_cache_options", "without breakpoints in the prompt, it could disable caching", { mode: "explicit" }, [{}]),
  drop("moderation", "no counterpart", { model: "m" }, [{}]),
] as const satisfies readonly Policy[];
