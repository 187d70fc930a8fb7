import { drop, emulate, map, reject, type Policy } from "../policy.ts";

const HELLO = { role: "user", content: "hi" };
const CALL = { role: "assistant", content: [{ type: "tool_use", id: "toolu_1", name: "f", input: {} }] };

/** Content inside `system`, `messages` and `tools`. The example is the part of a request that holds it. */
export const CONTENT_POLICIES = [
  map("messages.content.text", "text", saying({ type: "text", text: "hello" })),
  map("messages.content.image", "image_url, from base64 or a URL", saying(image({ type: "url", url: "https://x/a.png" }))),
  reject(
    "messages.content.image.file",
    "only the service that stores the file knows its id",
    saying(image({ type: "file", file_id: "f" })),
  ),
  map(
    "messages.content.document",
    "text in `<document>`; a PDF is a file part if the server accepts files (`files`), otherwise refused",
    saying(document({ type: "text", data: "text" })),
  ),
  map(
    "messages.content.document.url",
    "input_file with file_url, if the server accepts files (`files`); the server fetches it",
    saying(document({ type: "url", url: "https://x/a.pdf" })),
    { refusedBy: { chat: "chat has no documents by URL. Send the document's content" } },
  ),
  reject(
    "messages.content.document.file",
    "only the service that stores the file knows its id",
    saying(document({ type: "file", file_id: "f" })),
  ),
  emulate(
    "messages.content.search_result",
    "text in `<search_result>` with title and source",
    saying({ type: "search_result", source: "s", title: "t", content: [] }),
  ),
  map(
    "messages.content.thinking",
    "the server's reasoning field (`reasoningField`), regardless of its signature",
    answering({ type: "thinking", thinking: "hm", signature: "s" }),
    { droppedBy: { reasoningHistory: "never" } },
  ),
  drop("messages.content.redacted_thinking", "only its creator can read it", answering({ type: "redacted_thinking", data: "x" })),
  map("messages.content.tool_use", "tool_calls; arguments unchanged", { messages: [HELLO, CALL, resulting([])] }),
  map("messages.content.tool_result", "a message of role tool; images and files in one user message after the last", {
    messages: [HELLO, CALL, resulting([{ type: "text", text: "1" }])],
  }),
  emulate("messages.content.tool_result.is_error", "the text begins with `Error: `", {
    messages: [HELLO, CALL, resulting([], true)],
  }),
  emulate("messages.content.tool_reference", "text; all tools are sent, whether deferred or not", {
    messages: [HELLO, CALL, resulting([{ type: "tool_reference", tool_name: "g" }])],
  }),
  emulate(
    "messages.content.server_tool_use",
    "text: the call and its input",
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
  emulate("messages.clear_at", "a system message that ends with the next user message is left out from there on", {
    messages: [HELLO, { role: "system", content: "s", clear_at: "next_user_message" }, { role: "user", content: "go on" }],
  }),
  drop("messages.output_config", "the effort is that of the request", {
    messages: [HELLO, { role: "system", output_config: { effort: "low" } }],
  }),
  drop(
    "messages.content.bookkeeping",
    "the service's own records: fallback, tool_removal and similar blocks, and a tool_addition of a tool in `tools`",
    saying({ type: "tool_addition", tool: { type: "tool_reference", name: "f" } }),
  ),
  reject(
    "messages.content.tool.definition",
    "a tool_addition that defines a tool; it belongs in `tools`",
    saying({ type: "tool_addition", tool: { type: "tool_definition", definition: { name: "g", input_schema: {} } } }),
  ),
  drop(
    "messages.content.cache_control",
    "chat servers cache prefixes automatically",
    saying({ type: "text", text: "hi", cache_control: { type: "ephemeral" } }),
  ),
  drop(
    "messages.content.citations",
    "the cited text is in the block itself",
    answering({ type: "text", text: "hi", citations: [{}] }),
  ),
  map(
    "messages.system",
    "a system message at its position, or a `<system-reminder>` if the server does not allow one there (`systemAnywhere`)",
    {
      messages: [HELLO, { role: "system", content: "now" }],
    },
  ),
  reject(
    "messages.prefill",
    "continued if the server supports it (`prefill`), otherwise refused: the server would answer instead of continuing",
    {
      messages: [HELLO, { role: "assistant", content: "The answer is" }],
    },
  ),
  drop("system.cache_control", "chat servers cache prefixes automatically", {
    system: [{ type: "text", text: "s", cache_control: { type: "ephemeral" } }],
  }),
  map(
    "tools.custom",
    "a function; the schema unchanged",
    offering({ name: "g", description: "d", input_schema: { type: "object", properties: {} } }),
  ),
  emulate(
    "tools.client",
    "bash, text_editor, memory and computer become functions with full schemas",
    offering({ type: "bash_20250124", name: "bash" }),
  ),
  drop(
    "tools.tool_search",
    "all tools are sent, whether deferred or not",
    offering({ type: "tool_search_tool_bm25_20251119", name: "tool_search_tool_bm25" }),
  ),
  reject(
    "tools.server",
    "web search, web fetch, code execution, toolsets and advisors run on the messages service",
    offering({ type: "web_search_20250305", name: "web_search" }),
  ),
  map(
    "tools.strict",
    "strict, with the types of `enum` and `const` added where they are absent; dropped (listed) if chat's strict mode does not support the schema, for example optional properties",
    offering({ name: "f", strict: true, input_schema: { type: "object", properties: {}, additionalProperties: false } }),
  ),
  drop(
    "tools.cache_control",
    "chat servers cache prefixes automatically",
    offering({ name: "f", cache_control: { type: "ephemeral" } }),
  ),
  drop("tools.defer_loading", "all tools are sent", offering({ name: "f", defer_loading: true })),
  drop(
    "tools.eager_input_streaming",
    "arguments are always streamed as they arrive",
    offering({ name: "f", eager_input_streaming: true }),
  ),
  drop("tools.allowed_callers", "only the model itself calls tools", offering({ name: "f", allowed_callers: ["direct"] })),
  drop("tools.input_examples", "the schema describes the input", offering({ name: "f", input_examples: [{}] })),
  drop("thinking.display", "the reasoning is always returned: models perform worse if it is missing in the next turn", {
    thinking: { type: "adaptive", display: "omitted" },
  }),
  drop("output_config.task_budget", "a hint, not a limit", { output_config: { task_budget: { type: "tokens", total: 9 } } }),
  map(
    "tool_choice.disable_parallel_tool_use",
    "parallel_tool_calls",
    { ...offering({ name: "f" }), tool_choice: { type: "auto", disable_parallel_tool_use: true } },
    { droppedBy: { rejects: ["parallel_tool_calls"] } },
  ),
] as const satisfies readonly Policy[];

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
