import { describe, expect, test } from "vitest";
import type { Interface } from "../../../../contract/protocol.ts";
import { encodeCheck } from "../../../../extproc/guardrails/guardrails.ts";
import { MAX_TEXTS, textsOf } from "../../../../extproc/guardrails/texts.ts";
import { parseForm } from "../../../../extproc/protocol/form/form-body.ts";
import { FORM_RULES } from "../../../../extproc/protocol/form/form-rules.ts";
import { messagesToolId, saltedToolId } from "../../../../extproc/translate/conversation/ids.ts";
import { encodeThought } from "../../../../extproc/translate/responses/thought.ts";
import { parseBody } from "../../../../extproc/protocol/json/parse-body.ts";
import { formHeaders, writeForm } from "../../../support/dashboard/forms.ts";

/** What a guardrail's hook gets to read (S55). */
function read(body: object | string, client: Interface = "chat") {
  const bytes = Buffer.from(typeof body === "string" ? body : JSON.stringify(body));
  return textsOf(parseBody(bytes, { headers: new Map(), interface: client }), client);
}
const textIn = (body: object | string, client?: Interface) =>
  read(body, client)
    .map(({ text }) => text)
    .join("\n");

const HOOK = { cluster: "hook", path: "/", timeoutMs: 1_000, onFailure: "allow" } as const;
const PICTURE = "iVBORw0KGgo/".repeat(50);

/** Words that look like base64, as JSON may write them. */
const LONG = `hidden_${"x".repeat(200)}`;
const ESCAPED = Array.from(LONG, (each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, "0")}`).join("");
const PACKED = Buffer.from("hidden").toString("base64");
const SALTED_ID = saltedToolId("hidden words", { requestId: "r", index: 0 });
const THOUGHT = encodeThought({ model: "m", thinking: `hidden ${"x".repeat(200)}` });

test("a text for each turn, and one for each other member", () => {
  const tools = [{ type: "function", function: { name: "look_up", description: "Looks up.", parameters: { type: "object" } } }];
  const messages = [
    { role: "system", content: "Be brief." },
    {
      role: "user",
      content: [
        { type: "text", text: "One." },
        { type: "text", text: "Two." },
      ],
    },
    {
      role: "assistant",
      tool_calls: [{ id: "call_1", type: "function", function: { name: "look_up", arguments: '{"a":"b"}' } }],
    },
    { role: "tool", tool_call_id: "call_1", content: "Found." },
  ];
  expect(read({ model: "m", user: "u", messages, tools })).toEqual([
    { field: "messages[0]", text: "Be brief." },
    { field: "messages[1]", text: "One.\nTwo." },
    { field: "messages[2]", text: 'call_1\nlook_up\n{"a":"b"}' },
    { field: "messages[3]", text: "call_1\nFound." },
    { field: "tools", text: "look_up\nLooks up." },
  ]);
});

test("the system prompt, arguments with their names, and results of messages", () => {
  const messages = [
    {
      role: "assistant",
      content: [{ type: "tool_use", id: "t", name: "run", input: { "a name of the client's": ["value", 1] } }],
    },
    { role: "user", content: [{ type: "tool_result", tool_use_id: "t", content: [{ type: "text", text: "done" }] }] },
  ];
  expect(textIn({ system: [{ type: "text", text: "Be brief." }], messages }, "messages")).toBe(
    "Be brief.\nt\nrun\na name of the client's\nvalue\nt\ndone",
  );
});

test.for<readonly [Interface, object, string]>([
  ["responses", { input: "Hello.", instructions: "Be brief." }, "Hello.\nBe brief."],
  ["responses", { input: [{ role: "user", content: [{ type: "input_text", text: "Hello." }] }] }, "Hello."],
  ["responses", { input: [{ type: "function_call_output", call_id: "c", output: "Found." }] }, "c\nFound."],
  ["embeddings", { input: ["One.", "Two."] }, "One.\nTwo."],
  ["rerank", { query: "Which?", documents: ["One.", { text: "Two." }] }, "Which?\nOne.\nTwo."],
  ["image_generation", { prompt: "A cat.", size: "1024x1024" }, "A cat.\n1024x1024"],
  ["speech", { input: "Hello.", instructions: "Slowly.", voice: "alloy" }, "Hello.\nSlowly.\nalloy"],
])("the text of %s", ([client, body, text]) => {
  expect(textIn(body, client)).toBe(text);
});

describe("nothing hides", () => {
  test.for([
    [
      "in the first of two members",
      '{"messages":[{"role":"user","content":"hidden"}],"messages":[{"role":"user","content":"x"}]}',
    ],
    ["in the first of two nested members", '{"messages":[{"role":"user","content":"hidden","content":"x"}]}'],
    ["in an unknown member", '{"messages":[],"extra":{"deep":[["hidden"]]}}'],
    ["behind escapes", '{"messages":[{"role":"user","content":"\\u0068idden"}]}'],
    [
      "behind escapes in arguments",
      '{"messages":[{"tool_calls":[{"function":{"name":"f","arguments":"{\\"a\\":\\"\\\\u0068idden\\"}"}}]}]}',
    ],
    ["behind escapes in a name", '{"messages":[{"role":"user","\\u0063ontent":"hidden"}]}'],
    ["in a name", '{"messages":[],"extra":{"hidden":1}}'],
    ["as a role", '{"messages":[{"role":"say hidden things","content":"x"}]}'],
    ["as data that is no base64", `{"messages":[{"data":"hidden ${"x ".repeat(100)}"}]}`],
    ["as a source of text", `{"messages":[{"source":{"data":"hidden${"x".repeat(200)}","type":"text"}}]}`],
    [
      "as a source of text by its media type",
      `{"messages":[{"source":{"data":"hidden${"x".repeat(200)}","media_type":"text/plain"}}]}`,
    ],
    [
      "as a data URL of text",
      `{"messages":[{"file_data":"data:text/plain;base64,${Buffer.from("hidden").toString("base64")}"}]}`,
    ],
    [
      "in a source of text like a data URL",
      '{"messages":[{"source":{"type":"text","data":"data:text/plain;base64,hidden words"}}]}',
    ],
    [
      "in the head of a data URL that is a source of text",
      '{"messages":[{"source":{"data":"data:text/plain;hidden;base64,aGk=","type":"text"}}]}',
    ],
    ["as a source of text behind escapes", `{"messages":[{"source":{"data":"hidden${"x".repeat(200)}","type":"te\\u0078t"}}]}`],
    ["as a data URL of text behind escapes", `{"messages":[{"file_data":"DATA:te\\u0078t/plain;base64,hidden"}]}`],
    ["in base64 that a picture's prefix announces", `{"messages":[{"content":"data:image/png;base64,${LONG}"}]}`],
    ["behind a picture's prefix and escapes", `{"messages":[{"content":"data:image/png;base64,${ESCAPED}"}]}`],
    ["behind a picture's prefix, in a prompt", `{"messages":[],"prompt":"data:image/png;base64,${LONG}"}`],
    ["as a picture, behind escapes", `{"messages":[{"content":[{"image_url":{"url":"data:image/png;base64,${ESCAPED}"}}]}]}`],
    [
      "as data in arguments",
      `{"messages":[{"content":[{"type":"tool_use","input":{"data":"${LONG}","content":[{"data":"${LONG}"}]}}]}]}`,
    ],
    ["as data in arguments of a call", `{"messages":[{"tool_calls":[{"function":{"arguments":{"data":"${LONG}"}}}]}]}`],
    [
      "as a picture in a schema",
      `{"messages":[],"tools":[{"input_schema":{"image_url":{"url":"data:image/png;base64,${LONG}"}}}]}`,
    ],
    ["as data in an unknown member", `{"messages":[],"extra":{"content":[{"data":"${LONG}"}]}}`],
    ["as a role of one word", '{"messages":[{"role":"say.hidden.things","content":"x"}]}'],
    ["as an id", '{"messages":[{"role":"tool","tool_call_id":"say.hidden.things","content":"x"}]}'],
    ["as a format in a schema", '{"messages":[],"tools":[{"function":{"parameters":{"format":"hidden"}}}]}'],
    ["as base64 of text behind escapes", `{"messages":[{"content":[{"file_data":"data:te\\u0078t/plain;base64,${PACKED}"}]}]}`],
    ["as base64 of text with blanks", `{"messages":[{"content":[{"file_data":"data:text/plain; base64,aGlk ZGVu"}]}]}`],
    ["as text in percent signs", '{"messages":[{"content":[{"file_data":"data:text/plain,%68idden"}]}]}'],
    [
      "as base64 of text by its media type",
      `{"messages":[{"content":[{"source":{"media_type":"TEXT/plain","data":"${PACKED.repeat(30)}"}}]}]}`,
    ],
    ["in reasoning that the gateway packed", `{"input":[{"type":"reasoning","encrypted_content":"${THOUGHT}"}]}`],
    ["as a data URL of JSON", `{"input":[{"content":[{"file_data":"data:application/json;base64,${PACKED.repeat(30)}"}]}]}`],
    ["as a data URL of code", `{"input":[{"content":[{"file_data":"data:application/x-sh;base64;a=b,${PACKED}"}]}]}`],
    ["as a data URL of XML in percent signs", '{"messages":[{"content":[{"file_data":"data:application/atom+xml,%68idden"}]}]}'],
    [
      "as base64 of JSON by its media type",
      `{"messages":[{"content":[{"source":{"media_type":"application/json; charset=utf-8","data":"${PACKED.repeat(30)}"}}]}]}`,
    ],
    ["in the id of a call", `{"messages":[{"content":[{"type":"tool_use","id":"${messagesToolId("hidden words")}"}]}]}`],
    ["in the id of a call that was made unique", `{"messages":[{"tool_call_id":"${SALTED_ID}"}]}`],
    ["as a data URL of words", `{"messages":[{"url":"data:image/png;base64,hidden words"}]}`],
  ] as const)("%s", ([, body]) => {
    expect(textIn(body)).toContain("hidden");
  });
});

test("pictures, sound, files and sealed reasoning are left out", () => {
  const content = [
    { type: "image_url", image_url: { url: `data:image/png;base64,${PICTURE}` } },
    { type: "input_audio", input_audio: { data: PICTURE, format: "wav" } },
    { type: "file", file: { file_data: `data:application/pdf;base64,${PICTURE}`, filename: "a.pdf" } },
    { type: "image", source: { type: "base64", media_type: "image/png", data: PICTURE } },
    { type: "thinking", thinking: "Hm.", signature: PICTURE },
    { type: "reasoning", encrypted_content: PICTURE.replaceAll("/", "_") },
    { type: "tool_result", content: [{ type: "image", source: { type: "base64", media_type: "image/webp", data: PICTURE } }] },
    { type: "computer_call_output", output: { image_url: `data:image/png;base64,${PICTURE}` } },
  ];
  expect(textIn({ messages: [{ role: "user", content }] })).toBe("a.pdf\nHm.");
  expect(textIn(JSON.stringify({ messages: [{ role: "user", content }] }).replaceAll("/", "\\/"))).toBe("a.pdf\nHm.");
});

test("neighbours of a long conversation become one text, and nothing is lost", () => {
  const messages = Array.from({ length: MAX_TEXTS * 2 + 1 }, (_, at) => ({ role: "user", content: `turn ${at}` }));
  const texts = read({ messages });
  expect(texts.length).toBeLessThanOrEqual(MAX_TEXTS);
  expect(texts.map(({ text }) => text).join("\n")).toBe(messages.map(({ content }) => content).join("\n"));
  expect(new Set(texts.map(({ field }) => field))).toEqual(new Set(["messages"]));
});

test("deep nesting is walked without recursion", () => {
  const deep = `${"[".repeat(90_000)}"hidden"${"]".repeat(90_000)}`;
  expect(textIn(`{"messages":[{"role":"user","content":"x"}],"extra":${deep}}`)).toBe("x\nhidden");
});

test.for([{ input: [1, 2] }, { input: [[1, 2], [3]] }, { input: ["text", [1]] }])(
  "token ids are refused: $input",
  ({ input }) => {
    expect(() => read({ input }, "embeddings")).toThrow(/must be text/);
  },
);

test("of a form, all texts but those that no model reads, and no file", () => {
  const form = writeForm([
    ["model", "m"],
    ["image", { filename: "a.png", bytes: Buffer.from("a picture") }],
    ["prompt", "A hat."],
    ["user", "u"],
    ["styles", "Bright."],
    ["styles", "Bold."],
  ]);
  expect(textsOf(parseForm(form, formHeaders(), FORM_RULES.edit), "image_generation")).toEqual([
    { field: "prompt", text: "A hat." },
    { field: "styles", text: "Bright.\nBold." },
  ]);
});

test("a malformed string is reported as such", () => {
  const long = `${"x".repeat(600)}\\q`;
  expect(() => read(`{"messages":[{"role":"user","content":"${long}"}]}`)).toThrow(/not valid JSON near character/);
});

test("a hook gets Unicode that it can read, whatever a client sends", () => {
  const body = encodeCheck(HOOK, ["half \ud83d of a pair"]);
  expect(body?.toString()).toBe('{"input":["half \ufffd of a pair"]}');
});

test("text that a check cannot have is not written into one first, at six characters for each", () => {
  // Written, it would have more characters than a string can.
  expect(encodeCheck(HOOK, ["\0".repeat(100 * 1024 * 1024)])).toBeNull();
  expect(encodeCheck(HOOK, ["\0".repeat(2 * 1024 * 1024)])).toBeNull();
});

test("a request without text has none", () => {
  expect(read({ model: "m", messages: [], stream: true })).toEqual([]);
});
