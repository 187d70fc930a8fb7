import { drop, emulate, map, reject, type Policy } from "../policy.ts";
import { PREWARMING_POLICY } from "../prewarming.ts";
import { encodeThought } from "./thought.ts";

const HELLO = { role: "user", content: "hi" };
const CALL = { type: "function_call", call_id: "c", name: "f", arguments: '{"a":1}' };
const RESULT = { type: "function_call_output", call_id: "c", output: "r" };
const SCHEMA = { type: "object", properties: { city: { type: "string" } } };

/** Content inside `input`, `tools` and similar members. The example is the request's members that hold it. */
export const CONTENT_POLICIES = [
  map("input[].role: system, developer", "at the beginning: the system prompt; later: a system message at its position", {
    input: [{ role: "developer", content: "s" }, HELLO],
  }),
  map("input[].role: user, assistant", "turns; adjacent ones of the same role are merged", {
    input: [HELLO, { role: "assistant", content: "a" }, { role: "user", content: "b" }],
  }),
  map("input[].function_call", "a tool call; its arguments unchanged", { input: [HELLO, CALL, RESULT] }),
  map("input[].function_call_output", "the result of the call of that id, as text or content parts", {
    input: [HELLO, CALL, { ...RESULT, output: [{ type: "input_text", text: "r" }] }],
  }),
  emulate("input[].function_call without an output", "a result that states this", { input: [HELLO, CALL, HELLO] }),
  emulate("input[].function_call_output without its call", "text in the user turn, which names the call", { input: [RESULT] }),
  emulate("input[].custom_tool_call", "a call of a function with one string", {
    input: [
      HELLO,
      { type: "custom_tool_call", call_id: "c", name: "f", input: "x" },
      { type: "custom_tool_call_output", call_id: "c", output: "r" },
    ],
  }),
  map(
    "input[].reasoning",
    "sent back with its turn: to a chat server as its text (not if `reasoningHistory` is `never`: listed), to a messages server only with the `encrypted_content` that the same model's answer had",
    thinking({ encrypted_content: encodeThought({ model: "modelx-v4-pro", thinking: "t", signature: "c2ln" }) }),
  ),
  drop(
    "input[].encrypted_content",
    "another service's reasoning, or another model's: only its creator can read it",
    thinking({ summary: [], encrypted_content: "gAAAAA" }),
  ),
  drop("input[].item_reference", "of reasoning (`rs_…`), which SDKs send because a missing `store` counts as true at OpenAI", {
    input: [HELLO, { type: "item_reference", id: "rs_1" }, CALL, RESULT],
  }),
  reject("input[].item_reference to other items", "this model stores no responses. Send the item itself", {
    input: [{ type: "item_reference", id: "msg_1" }],
  }),
  emulate("input[].web_search_call and similar", "assistant text: the call, its input and its results", {
    input: [
      HELLO,
      { type: "web_search_call", id: "ws_1", status: "completed", action: { type: "search", query: "weather" } },
      { role: "assistant", content: "a" },
      HELLO,
    ],
  }),
  emulate("input[].computer_call_output and similar", "user text or an image; also for local_shell, shell and apply_patch", {
    input: [
      HELLO,
      { type: "shell_call", id: "sh_1", call_id: "c", action: { commands: ["ls"] } },
      { type: "shell_call_output", call_id: "c", output: [{ stdout: "a.txt" }] },
    ],
  }),
  drop("input[].bookkeeping", "a service's records of its tools: mcp_list_tools, approvals, tool_search", {
    input: [{ type: "mcp_list_tools", id: "mcpl_1", server_label: "s", tools: [] }, HELLO],
  }),
  reject("input[].type: compaction", "only the service that compacted the earlier turns can read them. Send those turns", {
    input: [{ type: "compaction", encrypted_content: "x" }, HELLO],
  }),
  reject("input[].type", "items of other kinds", { input: [{ type: "unheard_of_call", id: "u_1" }] }),
  map("input[].content[].input_text", "text", saying({ type: "input_text", text: "hello" })),
  map("input[].content[].refusal", "text of the assistant", {
    input: [HELLO, { role: "assistant", content: [{ type: "refusal", refusal: "no" }] }, HELLO],
  }),
  map("input[].content[].input_image", "an image, from a data URL or an address", saying(image("https://x/a.png"))),
  map("input[].content[].detail", "unchanged for chat servers", saying({ ...image("https://x/a.png"), detail: "high" }), {
    lostTo: { messages: "Messages has no levels of image detail" },
  }),
  reject("input[].content[].image_url", "an image is a data URL or an http(s) address", saying(image("ftp://x/a.png"))),
  map(
    "input[].content[].input_file",
    "a PDF or a text, such as Markdown, CSV, JSON and code, from a data URL; PDF only if the server accepts it",
    saying({ type: "input_file", filename: "a.txt", file_data: "data:text/plain;base64,aGk=" }),
  ),
  reject(
    "input[].content[].file_id",
    "the gateway stores files for batches only. Send the content itself",
    saying({ type: "input_file", file_id: "f" }),
  ),
  map(
    "input[].content[].file_url",
    "a document by URL, which the server fetches; Messages servers take PDFs",
    saying({ type: "input_file", file_url: "https://x/a.pdf" }),
    { refusedBy: { chat: "chat has no files by URL. Send the content in `file_data`" } },
  ),
  reject("input[].content[].type", "audio and other kinds of content", saying({ type: "input_audio", input_audio: {} })),
  map("tools[].function", "a function; the schema unchanged", {
    tools: [{ type: "function", name: "g", description: "d", parameters: SCHEMA }],
  }),
  map(
    "tools[].strict",
    "strict; servers get it only if their strict mode supports the schema, which for example requires all properties",
    {
      tools: [
        {
          type: "function",
          name: "f",
          strict: true,
          parameters: { type: "object", properties: {}, additionalProperties: false },
        },
      ],
    },
  ),
  emulate("tools[].custom", "a function with one string, which is returned as the call's input", {
    tools: [{ type: "custom", name: "g", description: "d" }],
  }),
  drop("tools[].format", "a grammar cannot be enforced", {
    tools: [{ type: "custom", name: "g", format: { type: "grammar", syntax: "lark", definition: "start: /a/" } }],
  }),
  emulate("tools[].namespace", "its tools, each under both names joined by `__`", {
    tools: [{ type: "namespace", name: "n", tools: [{ type: "function", name: "g" }] }],
  }),
  drop("tools[].tool_search", "all tools are sent, whether deferred or not", {
    tools: [{ type: "function", name: "g", defer_loading: true }, { type: "tool_search" }],
  }),
  reject("tools[].execution: client", "a search for tools that the request does not contain. Send all tools", {
    tools: [{ type: "tool_search", execution: "client" }],
  }),
  reject(
    "tools[].type",
    "tools that the service itself runs, such as web search, file search and code interpreter, or that are built into its models: shell, apply_patch, computer",
    {
      tools: [{ type: "web_search" }],
    },
  ),
  map(
    "text.verbosity",
    "verbosity for chat servers",
    { text: { verbosity: "low" } },
    { droppedBy: { accepts: [] }, lostTo: { messages: "no counterpart" } },
  ),
  PREWARMING_POLICY,
  drop("include[]", "only for tools that the service itself runs", { include: ["web_search_call.action.sources"] }),
  reject("include[]: logprobs", "log probabilities are not available. Leave it out", {
    include: ["message.output_text.logprobs"],
  }),
] as const satisfies readonly Policy[];

function saying(part: object): object {
  return { input: [{ role: "user", content: [part] }] };
}

function thinking(members: object): object {
  const reasoning = { type: "reasoning", summary: [{ type: "summary_text", text: "t" }], ...members };
  return { input: [HELLO, reasoning, { role: "assistant", content: "a" }, HELLO] };
}

function image(url: string): object {
  return { type: "input_image", image_url: url };
}
