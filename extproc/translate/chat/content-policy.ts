import { drop, emulate, map, reject, type Policy } from "../policy.ts";

const PNG = "data:image/png;base64,iVBORw0KGgo=";
const PDF = "data:application/pdf;base64,JVBERi0=";
const SCHEMA = { type: "object", properties: { city: { type: "string" } } };
const HELLO = { role: "user", content: "hi" };
const CALL = { id: "c", type: "function", function: { name: "f", arguments: '{"a":1}' } };
const CALLING = { role: "assistant", tool_calls: [CALL] };
const RESULT = { role: "tool", tool_call_id: "c", content: "r" };
const MARK = { cache_control: { type: "ephemeral" } };

/** What stands inside `messages`, `tools` and the like. The example is the request's members that hold it. */
export const CONTENT_POLICIES = [
  map(
    "messages[].role: system, developer",
    "at the head of the conversation: system blocks",
    conversation({ role: "developer", content: "s" }, HELLO),
  ),
  emulate(
    "messages[].role: system, later",
    "text in a `<system-reminder>`, in its place in the user turn; a system turn where the server takes them (`systemTurns`)",
    conversation(HELLO, { role: "system", content: "s" }),
  ),
  map(
    "messages[].role: user, assistant",
    "turns; neighbours of one role are joined, blank texts and empty messages left out",
    conversation({ role: "user", content: " " }, { role: "user", content: "a" }),
  ),
  map(
    "messages[].role: tool, function",
    "tool_result, first in the next user turn, in the order of the calls",
    conversation(HELLO, CALLING, RESULT),
  ),
  emulate(
    "messages[].tool_call_id without its call",
    "text in the user turn, which names the call",
    conversation({ role: "tool", tool_call_id: "x", content: "r" }),
  ),
  emulate(
    "messages[].tool_calls without a result",
    "a tool_result that says so, is_error: true",
    conversation(HELLO, CALLING, HELLO),
  ),
  emulate(
    "messages: an assistant first",
    "a user turn `(continue)` in front",
    conversation({ role: "assistant", content: "hello" }),
  ),
  map(
    "messages: an assistant last",
    "a prefill, which the model continues, without white space at its end",
    conversation(HELLO, { role: "assistant", content: "The answer is " }),
  ),
  drop("messages[].name", "messages has one user", conversation({ role: "user", name: "bob", content: "a" })),
  map("messages[].cache_control", "on the last block of the message", conversation({ ...HELLO, ...MARK })),
  map(
    "messages[].reasoning_details",
    "thinking that a messages server signed goes back as it was",
    conversation(HELLO, {
      role: "assistant",
      content: "a",
      reasoning_details: [{ type: "reasoning.text", text: "t", signature: "c2ln", format: "anthropic-claude-v1", index: 0 }],
    }),
  ),
  drop(
    "messages[].reasoning_content",
    "without its signature no messages server takes it back",
    conversation(HELLO, { role: "assistant", content: "a", reasoning_content: "t" }, HELLO),
  ),
  drop(
    "messages[].annotations",
    "the cited text stands in the content",
    conversation(
      HELLO,
      {
        role: "assistant",
        content: "a",
        annotations: [{ type: "url_citation", url_citation: { url: "https://x", title: "x", start_index: 0, end_index: 1 } }],
      },
      HELLO,
    ),
  ),
  reject(
    "messages[].audio",
    "what was spoken is known only to the service that keeps it",
    conversation(HELLO, { role: "assistant", audio: { id: "audio_1" } }),
  ),
  map("messages[].refusal", "text", conversation(HELLO, { role: "assistant", refusal: "no" }, HELLO)),
  map(
    "messages[].tool_calls[].id",
    "itself where legal and new, else an id that holds it",
    conversation(
      HELLO,
      { role: "assistant", tool_calls: [{ ...CALL, id: "functions.f:0" }] },
      { ...RESULT, tool_call_id: "functions.f:0" },
    ),
  ),
  map(
    "messages[].tool_calls[].function.arguments",
    "input, verbatim; what is no JSON object goes whole under `_raw`",
    conversation(
      HELLO,
      { role: "assistant", tool_calls: [{ ...CALL, function: { name: "f", arguments: "half of a JS" } }] },
      RESULT,
    ),
  ),
  map("messages[].content[].text", "a text block; input_text and output_text too", part({ type: "text", text: "a" })),
  map("messages[].content[].refusal", "a text block", part({ type: "refusal", refusal: "no" })),
  map(
    "messages[].content[].image_url",
    "image: PNG, JPEG, GIF or WebP as a data or http(s) URL",
    part({ type: "image_url", image_url: { url: PNG } }),
  ),
  map(
    "messages[].content[].image_url.detail",
    "unchanged for Responses servers",
    part({ type: "image_url", image_url: { url: PNG, detail: "high" } }),
    { lostTo: { messages: "messages has no levels of image detail" } },
  ),
  reject(
    "messages[].content[].image_url.url",
    "other image types and other schemes",
    part({ type: "image_url", image_url: { url: "ftp://x/a.png" } }),
  ),
  map(
    "messages[].content[].file.file_data",
    "document: PDF or plain text; the file's name is its title",
    part({ type: "file", file: { filename: "a.pdf", file_data: PDF } }),
  ),
  reject("messages[].content[].file.file_id", "the gateway stores no files", part({ type: "file", file: { file_id: "f" } })),
  reject("messages[].content[].input_audio", "messages has no audio", part({ type: "input_audio", input_audio: {} })),
  reject("messages[].content[].type", "any other type", part({ type: "video_url", video_url: { url: "https://x/a.mp4" } })),
  map(
    "messages[].content[].cache_control",
    "unchanged; prompt_cache_breakpoint, chat's own spelling, becomes it",
    part({ type: "text", text: "a", prompt_cache_breakpoint: true }),
  ),
  map(
    "tools[].function",
    "a tool; the parameters verbatim, a missing type of theirs becomes object, and combined schemas become one",
    {
      tools: [{ type: "function", function: { name: "g", description: "d", parameters: { properties: {} } } }],
    },
  ),
  map("tools[].function.strict", "strict; the schema as that of structured output", {
    tools: [{ type: "function", function: { name: "f", strict: true } }],
  }),
  map("tools[].function.name", "up to 64 legal characters as they are, else shortened with a hash, and back in answers", {
    tools: [{ type: "function", function: { name: "a.b" } }],
  }),
  map("tools[].cache_control", "unchanged", { tools: [{ type: "function", function: { name: "f" }, ...MARK }] }),
  emulate("tools[].custom", "a function with one string, input", { tools: [{ type: "custom", custom: { name: "c" } }] }),
  drop("tools[].custom.format", "messages cannot hold a tool's input to a grammar", {
    tools: [
      { type: "custom", custom: { name: "c", format: { type: "grammar", grammar: { syntax: "lark", definition: "s: x" } } } },
    ],
  }),
  reject("tools[].type", "any other type: the gateway runs no tools itself", { tools: [{ type: "web_search_preview" }] }),
  reject("tool_choice: required, without tools", "no call can come", { tools: [], tool_choice: "required" }),
  map("tool_choice.allowed_tools", "the other tools are left out; mode required becomes any", {
    tools: [CALL.function, { name: "g" }].map(({ name }) => ({ type: "function", function: { name } })),
    tool_choice: {
      type: "allowed_tools",
      allowed_tools: { mode: "required", tools: [{ type: "function", function: { name: "g" } }] },
    },
  }),
  emulate("tools: none, with calls in messages", "described by name, tool_choice none", {
    tools: [],
    ...conversation(HELLO, CALLING, RESULT),
  }),
  map(
    "response_format.json_schema",
    "output_config.format; objects are closed, and bounds move into descriptions; name, description and strict have no counterpart, and reach Responses servers; other ways where `jsonSchema` says so",
    { response_format: { type: "json_schema", json_schema: { name: "n", strict: true, schema: SCHEMA } } },
  ),
  drop("stream_options.include_obfuscation", "like every other member of it", { stream_options: { include_obfuscation: true } }),
  drop("chat_template_kwargs.custom", "like every other member of it", { chat_template_kwargs: { custom: 1 } }),
  drop("reasoning.summary", "like every other member of it", { reasoning: { summary: "auto" } }),
] as const satisfies readonly Policy[];

function conversation(...messages: readonly object[]): { messages: readonly object[] } {
  return { messages };
}

function part(content: object): { messages: readonly object[] } {
  return conversation({ role: "user", content: [content] });
}
