import { describe, expect, test } from "vitest";
import { readAnswer, readRequest } from "../../../../dashboard/prompt-log/transcript/transcript.ts";
import type { Turn } from "../../../../dashboard/prompt-log/transcript/turn.ts";

const textOf = (text: string) => ({ text: Buffer.from(text), bytes: text.length, isCut: false });
const ofRequest = (client: string, body: unknown) => readRequest(textOf(JSON.stringify(body)), client);
const ofAnswer = (client: string, body: unknown) => readAnswer(textOf(JSON.stringify(body)), client);
const stream = (events: readonly unknown[]) => events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("");

/** As "role kind title: text". */
function textsOf(turns: readonly Turn[]): string[] {
  return turns.flatMap(({ role, parts }) =>
    parts.map(({ kind, title, text }) => `${role} ${kind}${title === null ? "" : ` ${title}`}: ${text.replaceAll(/\s+/g, " ")}`),
  );
}

describe("requests", () => {
  test("chat completions", () => {
    const read = ofRequest("chat", {
      model: "m",
      temperature: 0.5,
      messages: [
        { role: "system", content: "Be brief." },
        {
          role: "user",
          content: [
            { type: "text", text: "Rome?" },
            { type: "image_url", image_url: { url: "data:…" } },
          ],
        },
        {
          role: "assistant",
          content: null,
          tool_calls: [{ id: "c1", function: { name: "weather", arguments: '{"city":"Rome"}' } }],
        },
        { role: "tool", tool_call_id: "c1", content: "4 degrees" },
      ],
      tools: [{ type: "function", function: { name: "weather", description: "Tells it.", parameters: {} } }],
    });
    expect(textsOf(read.turns)).toEqual([
      "system text: Be brief.",
      "user text: Rome?",
      'user other image_url: { "type": "image_url", "image_url": { "url": "data:…" } }',
      'assistant tool_call weather: { "city": "Rome" }',
      "tool tool_result c1: 4 degrees",
    ]);
    expect(read.tools).toEqual([{ name: "weather", description: "Tells it." }]);
    expect(JSON.parse(read.rest)).toEqual({ model: "m", temperature: 0.5 });
  });

  test("messages", () => {
    const read = ofRequest("messages", {
      system: [{ type: "text", text: "Be brief." }],
      messages: [
        { role: "user", content: "Rome?" },
        {
          role: "assistant",
          content: [
            { type: "thinking", thinking: "Hm.", signature: "x" },
            { type: "tool_use", id: "t1", name: "weather", input: { city: "Rome" } },
          ],
        },
        { role: "user", content: [{ type: "tool_result", tool_use_id: "t1", content: [{ type: "text", text: "4 degrees" }] }] },
      ],
    });
    expect(textsOf(read.turns)).toEqual([
      "system text: Be brief.",
      "user text: Rome?",
      "assistant reasoning: Hm.",
      'assistant tool_call weather: { "city": "Rome" }',
      "user tool_result t1: 4 degrees",
    ]);
  });

  test("responses", () => {
    const read = ofRequest("responses", {
      instructions: "Be brief.",
      input: [
        { role: "user", content: [{ type: "input_text", text: "Rome?" }] },
        { type: "reasoning", summary: [{ type: "summary_text", text: "Hm." }] },
        { type: "function_call", call_id: "c1", name: "weather", arguments: '{"city":"Rome"}' },
        { type: "function_call_output", call_id: "c1", output: "4 degrees" },
      ],
    });
    expect(textsOf(read.turns)).toEqual([
      "instructions text: Be brief.",
      "user text: Rome?",
      "assistant reasoning: Hm.",
      'assistant tool_call weather: { "city": "Rome" }',
      "tool tool_result c1: 4 degrees",
    ]);
    expect(textsOf(ofRequest("responses", { input: "Rome?" }).turns)).toEqual(["user text: Rome?"]);
  });

  test.for(['{"messages": [', "hello", "[1, 2]", "", '{"messages": 5}', '{"messages": [5, null, {"content": {"a": 1}}]}'])(
    "%s, which is no conversation, is shown as it was sent",
    (text) => {
      for (const client of ["chat", "messages", "responses", "rerank", "of the future"])
        expect(readRequest(textOf(text), client).whole.replaceAll(/\s/g, "")).toBe(text.replaceAll(/\s/g, ""));
    },
  );
});

describe("hostile texts", () => {
  const nested = (depth: number, inside = "") => `{"messages":${"[".repeat(depth)}${inside}${"]".repeat(depth)}}`;

  test.for<[string, string]>([
    ["nested more than any program can write", nested(400_000)],
    ["so deep that line breaks would make it a hundred times longer", nested(490, "1,".repeat(400_000) + "1")],
    ["with braces that are never closed", "{".repeat(900_000)],
    ["of quotes", '"'.repeat(900_001)],
    ["of events", "data:{}\n\n".repeat(400_000)],
  ])("a body %s is shown as it was sent", ([, text]) => {
    expect(readRequest(textOf(text), "chat")).toMatchObject({ turns: [], whole: text, isJson: false });
    expect(readAnswer(textOf(text), "chat").whole).toBe(text);
  });

  test("ordinary schemas and braces in texts are not mistaken for them", () => {
    const body = nested(100, JSON.stringify("{[".repeat(200_000)));
    expect(readRequest(textOf(body), "chat").isJson).toBe(true);
  });

  test("members that have the names of an object's own are data like others", () => {
    const body = '{"__proto__": {"x": 1}, "messages": [{"role": "constructor", "content": "hi", "toString": 1}]}';
    expect(textsOf(readRequest(textOf(body), "chat").turns)).toEqual(["constructor text: hi"]);
    expect(readRequest(textOf(body), "constructor").isJson).toBe(true);
  });
});

describe("answers", () => {
  test("chat completions, whole or as a stream", () => {
    const call = { name: "weather", arguments: '{"city":"Rome"}' };
    const whole = ofAnswer("chat", {
      choices: [
        { message: { role: "assistant", content: "Look.", tool_calls: [{ function: call }] }, finish_reason: "tool_calls" },
      ],
      usage: { prompt_tokens: 3 },
    });
    const streamed = readAnswer(
      textOf(
        `: keep-alive\n\n${stream([
          { choices: [{ index: 0, delta: { role: "assistant", content: "Lo" } }] },
          { choices: [{ index: 0, delta: { content: "ok." } }] },
          { choices: [{ index: 0, delta: { tool_calls: [{ index: 0, function: { name: "weather", arguments: '{"city"' } }] } }] },
          {
            choices: [
              {
                index: 0,
                delta: { tool_calls: [{ index: 0, function: { arguments: ':"Rome"}' } }] },
                finish_reason: "tool_calls",
              },
            ],
          },
          { choices: [], usage: { prompt_tokens: 3 } },
        ])}data: [DONE]\n\n`,
      ),
      "chat",
    );
    for (const read of [whole, streamed]) {
      expect(textsOf(read.turns)).toEqual(["assistant text: Look.", 'assistant tool_call weather: { "city": "Rome" }']);
      expect(JSON.parse(read.rest)).toEqual({ usage: { prompt_tokens: 3 }, finish_reason: "tool_calls" });
    }
  });

  test("messages, whole or as a stream", () => {
    const whole = ofAnswer("messages", {
      role: "assistant",
      content: [
        { type: "text", text: "Look." },
        { type: "tool_use", name: "weather", input: { city: "Rome" } },
      ],
      stop_reason: "tool_use",
    });
    const streamed = readAnswer(
      textOf(
        stream([
          { type: "message_start", message: { role: "assistant", content: [] } },
          { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
          { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Look." } },
          { type: "content_block_start", index: 1, content_block: { type: "tool_use", name: "weather", input: {} } },
          { type: "content_block_delta", index: 1, delta: { type: "input_json_delta", partial_json: '{"city":' } },
          { type: "content_block_delta", index: 1, delta: { type: "input_json_delta", partial_json: '"Rome"}' } },
          { type: "message_delta", delta: { stop_reason: "tool_use" }, usage: { output_tokens: 4 } },
        ]),
      ),
      "messages",
    );
    for (const read of [whole, streamed]) {
      expect(textsOf(read.turns)).toEqual(["assistant text: Look.", 'assistant tool_call weather: { "city": "Rome" }']);
      expect(JSON.parse(read.rest)).toMatchObject({ stop_reason: "tool_use" });
    }
  });

  test("responses, whole, as a stream, and as one that was cut off", () => {
    const output = [{ type: "message", role: "assistant", content: [{ type: "output_text", text: "Look." }] }];
    const opened = {
      type: "response.output_item.added",
      output_index: 0,
      item: { type: "message", role: "assistant", content: [] },
    };
    const cut = [opened, { type: "response.output_text.delta", output_index: 0, delta: "Look." }];
    const whole = ofAnswer("responses", { status: "completed", output });
    const streamed = readAnswer(
      textOf(stream([...cut, { type: "response.completed", response: { status: "completed", output } }])),
      "responses",
    );
    for (const read of [whole, streamed]) expect(JSON.parse(read.rest)).toEqual({ status: "completed" });
    for (const read of [whole, streamed, readAnswer(textOf(`${stream(cut)}data: {"type": "resp`), "responses")])
      expect(textsOf(read.turns)).toEqual(["assistant text: Look."]);
  });

  test("a message whose server gives all blocks the same index", () => {
    const block = (content_block: object) => ({ type: "content_block_start", index: 0, content_block });
    const delta = (members: object) => ({ type: "content_block_delta", index: 0, delta: members });
    const events = [
      block({ type: "text", text: "" }),
      delta({ type: "text_delta", text: "Look." }),
      block({ type: "tool_use", name: "weather", input: {} }),
      delta({ type: "input_json_delta", partial_json: '{"city":"Rome"}' }),
    ];
    const { turns } = readAnswer(textOf(stream(events)), "messages");
    expect(textsOf(turns)).toEqual(["assistant text: Look.", 'assistant tool_call weather: { "city": "Rome" }']);
  });

  test("a response whose last event has no output, and whose items have no positions", () => {
    const added = (item: object) => ({ type: "response.output_item.added", item });
    const events = [
      added({ type: "message", id: "msg_1", role: "assistant", content: [] }),
      { type: "response.output_text.delta", item_id: "msg_1", delta: "Look." },
      added({ type: "function_call", call_id: "call_1", name: "weather", arguments: "" }),
      { type: "response.function_call_arguments.delta", item_id: "call_1", delta: '{"city":"Rome"}' },
      { type: "response.failed", response: { status: "failed", output: [] } },
    ];
    const { turns, rest } = readAnswer(textOf(stream(events)), "responses");
    expect(textsOf(turns)).toEqual(["assistant text: Look.", 'assistant tool_call weather: { "city": "Rome" }']);
    expect(JSON.parse(rest)).toEqual({ status: "failed" });
  });

  test("errors are shown, also those in a stream", () => {
    const error = { type: "invalid_request_error", message: "No." };
    expect(JSON.parse(ofAnswer("chat", { error }).rest)).toEqual({ error });
    const streamed = readAnswer(textOf(stream([{ choices: [{ index: 0, delta: { content: "Lo" } }] }, { error }])), "chat");
    expect(textsOf(streamed.turns)).toEqual(["assistant text: Lo"]);
    expect(JSON.parse(streamed.rest)).toMatchObject({ error });
  });
});

describe("what would take the process's memory or time is shown as it was sent", () => {
  test.for([
    ["nested too deep for line breaks", 1_000, 1],
    ["nested too deep for the stack", 50_000, 1],
    ["many that are nested less deep", 200, 500],
  ] as const)("JSON that is %s", ([, depth, lists]) => {
    const nested = `${"[".repeat(depth)}${"]".repeat(depth)}`;
    const sent = `{"messages":[{"role":"user","content":"Hi"}],"metadata":[${Array.from({ length: lists }, () => nested).join(",")}]}`;
    for (const read of [readRequest(textOf(sent), "chat"), readRequest(textOf(sent), "rerank"), readAnswer(textOf(sent), "chat")])
      expect(read).toEqual({ turns: [], tools: [], rest: "", whole: sent, isJson: false });
  });

  test("the arguments of a tool that are nested so deep, while the rest is read", () => {
    const nested = String.raw`{"\"[":${"[".repeat(1_000)}${"]".repeat(1_000)}}`;
    const call = { function: { name: "weather", arguments: nested } };
    const read = ofRequest("chat", { messages: [{ role: "assistant", tool_calls: [call] }] });
    expect(textsOf(read.turns)).toEqual([`assistant tool_call weather: ${nested}`]);
  });

  test("a stream of events that are none", () => {
    const sent = `data: {"choices":[{"delta":{"content":"Hi"}}]}\n\n${"data: {\n\n".repeat(101)}data: {"choices":[{"delta":{"content":"!"}}]}`;
    const read = readAnswer(textOf(sent), "chat");
    expect([textsOf(read.turns), read.whole]).toEqual([["assistant text: Hi"], sent]);
  });
});
