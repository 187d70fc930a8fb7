/**
 * What becomes of each field of a messages request on its way to a chat upstream.
 *
 * "map": the same meaning in the other protocol. "emulate": the meaning by other means. "drop": left out, named in
 * `x-gateway-dropped`. "reject": a 400 that names the field, because leaving it out would change the answer (S21).
 */
export interface FieldPolicy<Field extends string = string> {
  readonly field: Field;
  readonly action: "map" | "emulate" | "drop" | "reject";
  readonly note: string;
  /** A value that the action applies to; the test of this table sends it. */
  readonly example: unknown;
  /** Values that ask for nothing: neither named nor refused. Null always is one. */
  readonly neutral?: readonly unknown[];
}

/** Every top-level field. One that is not here is unknown to messages and is dropped, named. */
export const FIELD_POLICIES = [
  map("model", "the name that the upstream knows; the client reads its own name back", "modelx-v4-pro"),
  map("max_tokens", "max_tokens or max_completion_tokens, at most the model's own limit", 100),
  map("messages", "system, user, assistant and tool messages; see the table of content", [{ role: "user", content: "hi" }]),
  map("system", "one leading system message; the coding agents' billing line is taken out", "be brief"),
  map("stream", "stream, and stream_options.include_usage", true),
  map("temperature", "as it is; left out (named) where the server rejects it", 0.5),
  map("top_p", "as it is; left out (named) where the server rejects it", 0.9),
  map("top_k", "as it is; left out (named) where the server rejects it", 40),
  map("stop_sequences", "stop; more than the server takes are refused; left out (named) where it takes none", ["END"]),
  map("tools", "functions; see the table of content", [{ name: "f", input_schema: { type: "object" } }]),
  map("tool_choice", "auto, required, a function or none; auto and none without tools are left out", { type: "auto" }),
  map("thinking", "the server's own switch, or an effort word for a budget; left out (named) where it has neither", {
    type: "enabled",
    budget_tokens: 2048,
  }),
  map("output_config", "effort as reasoning_effort; format as response_format", { effort: "high" }),
  map("output_format", "response_format; an instruction where the server knows no schemas", {
    type: "json_schema",
    schema: { type: "object" },
  }),
  map("metadata", "user_id as user, hashed when longer than 64; left out (named) where the server takes none", {
    user_id: "user-17",
  }),
  map("service_tier", "standard_only as default; left out (named) where the server takes none", "standard_only"),
  drop("cache_control", "chat servers cache prefixes by themselves", { type: "ephemeral" }),
  drop("context_management", "the client sends the context that it wants", { edits: [] }),
  drop("compaction", "the client compacts by itself", {}),
  drop("fallbacks", "the gateway chooses the backend", [{ model: "x" }]),
  drop("fallback_credit_token", "a token of the messages service itself", "token"),
  drop("billing_policy", "the gateway bills by its own prices", {}),
  drop("speed", "a backend has one speed", "fast", ["standard"]),
  drop("inference_geo", "the operator chooses where a model runs", "eu"),
  drop("diagnostics", "asks the messages service about itself", {}),
  drop("task_budget", "a hint, no limit", {}),
  drop("betas", "switch what the messages service does", ["some-beta"]),
  drop("user_profile_id", "an id of the messages service itself", "profile"),
  drop("workspace_id", "an id of the messages service itself", "workspace"),
  reject("mcp_servers", "they run on the messages service; connect to them from the client", [{ type: "url", url: "https://x" }]),
  reject("container", "containers exist only on the messages service", "container_1"),
  reject("thread", "the messages service keeps the first part of the conversation", { id: "thread_1" }),
] as const satisfies readonly FieldPolicy[];

const HELLO = { role: "user", content: "hi" };
const CALL = { role: "assistant", content: [{ type: "tool_use", id: "toolu_1", name: "f", input: {} }] };

/** What stands inside `system`, `messages` and `tools`. The example is the part of a request that holds it. */
export const CONTENT_POLICIES = [
  map("messages.content.text", "text", saying({ type: "text", text: "hi" })),
  map("messages.content.image", "image_url, from base64 or a URL", saying(image({ type: "url", url: "https://x/a.png" }))),
  reject(
    "messages.content.image.file",
    "a file id is known only to the service that keeps the file",
    saying(image({ type: "file", file_id: "f" })),
  ),
  map(
    "messages.content.document",
    "text in <document>; a PDF is a file part where the server takes files, else refused",
    saying(document({ type: "text", data: "text" })),
  ),
  reject(
    "messages.content.document.url",
    "documents are never fetched: the address could be an inner one",
    saying(document({ type: "url", url: "https://x/a.pdf" })),
  ),
  reject(
    "messages.content.document.file",
    "a file id is known only to the service that keeps the file",
    saying(document({ type: "file", file_id: "f" })),
  ),
  emulate(
    "messages.content.search_result",
    "text in <search_result> with title and source",
    saying({ type: "search_result", source: "s", title: "t", content: [] }),
  ),
  map(
    "messages.content.thinking",
    "the server's reasoning field; left out (named) where it takes none back",
    answering({ type: "thinking", thinking: "hm", signature: "s" }),
  ),
  drop("messages.content.redacted_thinking", "only its maker can read it", answering({ type: "redacted_thinking", data: "x" })),
  map("messages.content.tool_use", "tool_calls; arguments as they are written", { messages: [HELLO, CALL, resulting([])] }),
  map("messages.content.tool_result", "a message of role tool; images and files in one user message behind the last", {
    messages: [HELLO, CALL, resulting([{ type: "text", text: "1" }])],
  }),
  emulate("messages.content.tool_result.is_error", "the text begins with `Error: `", {
    messages: [HELLO, CALL, resulting([], true)],
  }),
  emulate("messages.content.tool_reference", "text; all tools are sent, deferred or not", {
    messages: [HELLO, CALL, resulting([{ type: "tool_reference", tool_name: "g" }])],
  }),
  emulate(
    "messages.content.server_tool_use",
    "text: what was called, and with what",
    answering({ type: "server_tool_use", id: "s", name: "web_search", input: {} }),
  ),
  emulate(
    "messages.content.server_tool_result",
    "text: titles and addresses, or the result",
    answering({ type: "web_search_tool_result", tool_use_id: "s", content: [] }),
  ),
  emulate("messages.content.compaction", "its text", saying({ type: "compaction", content: "so far" })),
  reject(
    "messages.content.container_upload",
    "files in a container exist only there",
    saying({ type: "container_upload", file_id: "f" }),
  ),
  drop(
    "messages.content.bookkeeping",
    "notes of the service about itself: fallback, tool_addition and their like",
    saying({ type: "tool_addition" }),
  ),
  drop(
    "messages.content.cache_control",
    "chat servers cache prefixes by themselves",
    saying({ type: "text", text: "hi", cache_control: { type: "ephemeral" } }),
  ),
  drop(
    "messages.content.citations",
    "the cited text stands in the block itself",
    answering({ type: "text", text: "hi", citations: [{}] }),
  ),
  map("messages.system", "a system message in its place, or a <system-reminder> where the server allows none there", {
    messages: [HELLO, { role: "system", content: "now" }],
  }),
  reject("messages.prefill", "continued where the server can (profile flag), else refused: it would answer, not continue", {
    messages: [HELLO, { role: "assistant", content: "The answer is" }],
  }),
  drop("system.cache_control", "chat servers cache prefixes by themselves", {
    system: [{ type: "text", text: "s", cache_control: { type: "ephemeral" } }],
  }),
  map(
    "tools.custom",
    "a function; the schema as it is written",
    offering({ name: "f", input_schema: { type: "object", properties: {} } }),
  ),
  emulate(
    "tools.client",
    "bash, text_editor, memory and computer are spelled out as functions",
    offering({ type: "bash_20250124", name: "bash" }),
  ),
  drop(
    "tools.tool_search",
    "all tools are sent, deferred or not",
    offering({ type: "tool_search_tool_bm25_20251119", name: "tool_search_tool_bm25" }),
  ),
  reject(
    "tools.server",
    "web search, web fetch, code execution, toolsets and advisors run on the messages service",
    offering({ type: "web_search_20250305", name: "web_search" }),
  ),
  map(
    "tools.strict",
    "strict; left out (named) where the schema has optional properties, which chat's strict has not",
    offering({ name: "f", strict: true, input_schema: { type: "object", properties: {}, additionalProperties: false } }),
  ),
  drop(
    "tools.cache_control",
    "chat servers cache prefixes by themselves",
    offering({ name: "f", cache_control: { type: "ephemeral" } }),
  ),
  drop("tools.defer_loading", "all tools are sent", offering({ name: "f", defer_loading: true })),
  drop(
    "tools.eager_input_streaming",
    "arguments are streamed as they come",
    offering({ name: "f", eager_input_streaming: true }),
  ),
  drop("tools.allowed_callers", "only the model itself calls tools", offering({ name: "f", allowed_callers: ["direct"] })),
  drop("tools.input_examples", "the schema says what an input is", offering({ name: "f", input_examples: [{}] })),
  map("tool_choice.disable_parallel_tool_use", "parallel_tool_calls; left out (named) where the server rejects it", {
    ...offering({ name: "f" }),
    tool_choice: { type: "auto", disable_parallel_tool_use: true },
  }),
] as const satisfies readonly FieldPolicy[];

/** A name that `x-gateway-dropped` may carry for something that the table says is left out, always or on some servers. */
export type DroppableName = (typeof FIELD_POLICIES)[number]["field"] | (typeof CONTENT_POLICIES)[number]["field"];

function map<const Field extends string>(field: Field, note: string, example: unknown): FieldPolicy<Field> {
  return { field, action: "map", note, example };
}

function emulate<const Field extends string>(field: Field, note: string, example: unknown): FieldPolicy<Field> {
  return { field, action: "emulate", note, example };
}

function drop<const Field extends string>(
  field: Field,
  note: string,
  example: unknown,
  neutral: readonly unknown[] = [],
): FieldPolicy<Field> {
  return { field, action: "drop", note, example, neutral };
}

function reject<const Field extends string>(field: Field, note: string, example: unknown): FieldPolicy<Field> {
  return { field, action: "reject", note, example, neutral: [] };
}

function saying(block: object): object {
  return { messages: [{ role: "user", content: [block] }] };
}

function answering(block: object): object {
  return { messages: [HELLO, { role: "assistant", content: [block] }, HELLO] };
}

function resulting(content: readonly object[], isError = false): object {
  return { role: "user", content: [{ type: "tool_result", tool_use_id: "toolu_1", content, is_error: isError }] };
}

function offering(tool: object): object {
  return { tools: [tool] };
}

function image(source: object): object {
  return { type: "image", source };
}

function document(source: object): object {
  return { type: "document", source };
}
