import { drop, emulate, map, reject, type Policy } from "../policy.ts";
import { PREWARMING_POLICY } from "../prewarming.ts";

const PNG = "data:image/png;base64,iVBORw0KGgo=";
const PDF = "data:application/pdf;base64,JVBERi0=";
const SCHEMA = { type: "object", properties: { city: { type: "string" } } };
const HELLO = { role: "user", content: "hi" };
const CALL = { id: "c", type: "function", function: { name: "f", arguments: '{"a":1}' } };
const CALLING = { role: "assistant", tool_calls: [CALL] };
const RESULT = { role: "tool", tool_call_id: "c", content: "r" };
const MARK = { cache_control: { type: "ephemeral" } };

/** Content inside `messages`, `tools` and similar members. The example is the request's members that hold it. */
export const CONTENT_POLICIES = [
  map(
    "messages[].role: system, developer",
    "at the beginning of the conversation: system blocks",
    conversation({ role: "developer", content: "s" }, HELLO),
  ),
  emulate(
    "messages[].role: system, later",
    "text in a `<system-reminder>`, at its position in the user turn; a system turn if the server accepts them (`systemTurns`)",
    conversation(HELLO, { role: "system", content: "s" }),
  ),
  map(
    "messages[].role: user, assistant",
    "turns; adjacent ones of the same role are merged, blank texts and empty messages omitted",
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
    "a tool_result that states this, with is_error: true",
    conversation(HELLO, CALLING, HELLO),
  ),
  emulate(
    "messages: an assistant first",
    "preceded by a user turn `(continue)`",
    conversation({ role: "assistant", content: "hello" }),
  ),
  map(
    "messages: an assistant last",
    "a prefill, which the model continues; white space at its end is removed",
    conversation(HELLO, { role: "assistant", content: "The answer is " }),
  ),
  drop("messages[].name", "Messages has no names for participants", conversation({ role: "user", name: "bob", content: "a" })),
  map("messages[].cache_control", "moved to the last block of the message", conversation({ ...HELLO, ...MARK })),
  map(
    "messages[].reasoning_details",
    "thinking signed by a messages server is sent back unchanged",
    conversation(HELLO, {
      role: "assistant",
      content: "a",
      reasoning_details: [{ type: "reasoning.text", text: "t", signature: "c2ln", format: "anthropic-claude-v1", index: 0 }],
    }),
  ),
  drop(
    "messages[].reasoning_content",
    "messages servers reject it without its signature",
    conversation(HELLO, { role: "assistant", content: "a", reasoning_content: "t" }, HELLO),
  ),
  drop(
    "messages[].annotations",
    "the cited text is in the content",
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
    "only the service that stores the audio knows its content",
    conversation(HELLO, { role: "assistant", audio: { id: "audio_1" } }),
  ),
  map("messages[].refusal", "text", conversation(HELLO, { role: "assistant", refusal: "no" }, HELLO)),
  map(
    "messages[].tool_calls[].id",
    "unchanged if valid and unique, otherwise an id that contains it",
    conversation(
      HELLO,
      { role: "assistant", tool_calls: [{ ...CALL, id: "functions.f:0" }] },
      { ...RESULT, tool_call_id: "functions.f:0" },
    ),
  ),
  map(
    "messages[].tool_calls[].function.arguments",
    "input, verbatim; anything but a JSON object goes under `_raw`",
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
    { lostTo: { messages: "Messages has no levels of image detail" } },
  ),
  reject(
    "messages[].content[].image_url.url",
    "other image types and other schemes",
    part({ type: "image_url", image_url: { url: "ftp://x/a.png" } }),
  ),
  map(
    "messages[].content[].file.file_data",
    "document: PDF or text, such as Markdown, CSV, JSON and code; the file's name is its title",
    part({ type: "file", file: { filename: "a.pdf", file_data: PDF } }),
  ),
  reject(
    "messages[].content[].file.file_id",
    "the gateway stores files for batches only",
    part({ type: "file", file: { file_id: "f" } }),
  ),
  reject("messages[].content[].input_audio", "Messages has no audio", part({ type: "input_audio", input_audio: {} })),
  reject("messages[].content[].type", "any other type", part({ type: "video_url", video_url: { url: "https://x/a.mp4" } })),
  map(
    "messages[].content[].cache_control",
    "unchanged; prompt_cache_breakpoint, chat's own name for it, is converted to it",
    part({ type: "text", text: "a", prompt_cache_breakpoint: true }),
  ),
  map(
    "tools[].function",
    "a tool; the parameters verbatim, except that a missing type becomes object, and combined schemas are merged",
    {
      tools: [{ type: "function", function: { name: "g", description: "d", parameters: { properties: {} } } }],
    },
  ),
  map("tools[].function.strict", "strict; the schema is converted as for structured output", {
    tools: [{ type: "function", function: { name: "f", strict: true } }],
  }),
  map(
    "tools[].function.name",
    "unchanged if it has at most 64 valid characters, otherwise shortened with a hash, and restored in answers",
    {
      tools: [{ type: "function", function: { name: "a.b" } }],
    },
  ),
  map("tools[].cache_control", "unchanged", { tools: [{ type: "function", function: { name: "f" }, ...MARK }] }),
  emulate("tools[].custom", "a function with one string, input", { tools: [{ type: "custom", custom: { name: "c" } }] }),
  drop("tools[].custom.format", "Messages cannot constrain a tool's input by a grammar", {
    tools: [
      { type: "custom", custom: { name: "c", format: { type: "grammar", grammar: { syntax: "lark", definition: "s: x" } } } },
    ],
  }),
  reject("tools[].input_schema", "the format of Messages: here the schema goes in function.parameters", {
    tools: [{ name: "g", input_schema: { type: "object" } }],
  }),
  reject("tools[].type", "any other type: the gateway runs no tools itself", { tools: [{ type: "web_search_preview" }] }),
  reject("tool_choice: required, without tools", "the model could not call any tool", { tools: [], tool_choice: "required" }),
  map("tool_choice.allowed_tools", "the other tools are left out; mode required becomes any", {
    tools: [CALL.function, { name: "g" }].map(({ name }) => ({ type: "function", function: { name } })),
    tool_choice: {
      type: "allowed_tools",
      allowed_tools: { mode: "required", tools: [{ type: "function", function: { name: "g" } }] },
    },
  }),
  emulate("tools: none, with calls in messages", "declared by name only, with tool_choice none", {
    tools: [],
    ...conversation(HELLO, CALLING, RESULT),
  }),
  map(
    "response_format.json_schema",
    "output_config.format; objects are closed, and bounds move into descriptions; name, description and strict have no counterpart, except on Responses servers; `jsonSchema` can select other methods",
    { response_format: { type: "json_schema", json_schema: { name: "n", strict: true, schema: SCHEMA } } },
  ),
  PREWARMING_POLICY,
  drop("stream_options.include_obfuscation", "as for all other members", { stream_options: { include_obfuscation: true } }),
  drop("chat_template_kwargs.custom", "as for all other members", { chat_template_kwargs: { custom: 1 } }),
  drop("reasoning.summary", "as for all other members", { reasoning: { summary: "auto" } }),
] as const satisfies readonly Policy[];

function conversation(...messages: readonly object[]): { messages: readonly object[] } {
  return { messages };
}

function part(content: object): { messages: readonly object[] } {
  return conversation({ role: "user", content: [content] });
}
