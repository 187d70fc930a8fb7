import { describe, expect, test } from "vitest";
import { createMeter } from "../../../../../extproc/meter/meter.ts";
import { createTranslation } from "../../../../../extproc/translate/choose.ts";
import { inputFor } from "../input.ts";

const REQUEST = { model: "m", messages: [{ role: "user", content: "hi" }], stream: true };
const USAGE = { input_tokens: 5, output_tokens: 5 };

/** More than the gateway reads. */
const DEEP = '{"a":'.repeat(200_000);

/** What a server wrote as a tool's whole input, and what chat clients should get as its arguments. */
const INPUTS = [
  ["an object", '{"n":12345678901234567890}', '{"n":12345678901234567890}'],
  ["the text of an object", JSON.stringify('{"n":12345678901234567890}'), '{"n":12345678901234567890}'],
  ["the text of an object, indented", JSON.stringify('{\n  "a": 1\n}'), '{\n  "a": 1\n}'],
  ["an empty text", '""', "{}"],
  ["null", "null", "{}"],
  ["a text that is no object", '"Paris"', '"Paris"'],
  ["the text of a list", '"[1]"', '"[1]"'],
  ["the text of an object that is too deep", JSON.stringify(DEEP), JSON.stringify(DEEP)],
] as const;

describe.for(INPUTS)("a tool's input that a server writes whole, as %s", ([, input, wanted]) => {
  const block = `{"type":"tool_use","id":"call_1","name":"f","input":${input}}`;

  test("is the arguments in a complete answer", () => {
    const body = `{"id":"m","type":"message","content":[${block}],"stop_reason":"tool_use","usage":${JSON.stringify(USAGE)}}`;
    const answer = createTranslation("chat", inputFor(REQUEST, { upstream: "messages" })).response(
      Buffer.from(body),
      createMeter(0),
    );
    const arguments_: unknown = JSON.parse(answer.toString()).choices[0].message.tool_calls[0].function.arguments;
    expect(arguments_).toBe(wanted);
  });

  test("is the arguments in a stream", () => {
    const stream = createTranslation("chat", inputFor(REQUEST, { upstream: "messages" })).stream(createMeter(0));
    const events = [
      `{"type":"message_start","message":{"id":"m","usage":${JSON.stringify(USAGE)}}}`,
      `{"type":"content_block_start","index":0,"content_block":${block}}`,
      '{"type":"content_block_stop","index":0}',
      '{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":5}}',
      '{"type":"message_stop"}',
    ];
    const text = events.map((event) => String(stream.push(Buffer.from(`data: ${event}\n\n`)))).join("");
    expect(stream.outcome()).toBe("complete");
    expect(argumentsIn(text)).toBe(wanted);
  });
});

function argumentsIn(text: string): string {
  const chunks = text.split("\n").filter((line) => line.startsWith("data: {"));
  return chunks
    .flatMap((line) => JSON.parse(line.slice("data: ".length)).choices)
    .flatMap((choice) => choice.delta.tool_calls ?? [])
    .map((call) => call.function.arguments)
    .join("");
}

describe.for([{ signature: null }, { signature: "" }, {}])("a signature_delta of %j", (late) => {
  const delta = (members: object) => ({ type: "content_block_delta", index: 0, delta: members });
  const events = [
    { type: "message_start", message: { id: "m", type: "message", role: "assistant", content: [], usage: USAGE } },
    { type: "content_block_start", index: 0, content_block: { type: "thinking", thinking: "", signature: "" } },
    delta({ type: "thinking_delta", thinking: "hm" }),
    delta({ type: "signature_delta", signature: "c2ln" }),
    delta({ type: "signature_delta", ...late }),
    { type: "content_block_stop", index: 0 },
    { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 5 } },
    { type: "message_stop" },
  ];
  const body = Buffer.from(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(""));

  test("leaves a chat client the signature that came before", () => {
    const stream = createTranslation("chat", inputFor(REQUEST, { upstream: "messages" })).stream(createMeter(0));
    expect(String(stream.push(body))).toContain('"signature":"c2ln"');
  });

  test("leaves it in the message made from a stream", () => {
    const request = { ...REQUEST, max_tokens: 9, stream: false };
    const translation = createTranslation("messages", inputFor(request, { upstream: "messages" }));
    const message: unknown = JSON.parse(translation.response(body, createMeter(0)).toString());
    expect(message).toMatchObject({ content: [{ type: "thinking", thinking: "hm", signature: "c2ln" }] });
  });
});

test("an empty signature is kept where there is no other", () => {
  const events = [
    { type: "message_start", message: { id: "m", type: "message", role: "assistant", content: [], usage: USAGE } },
    { type: "content_block_start", index: 0, content_block: { type: "thinking", thinking: "hm" } },
    { type: "content_block_delta", index: 0, delta: { type: "signature_delta", signature: "" } },
    { type: "content_block_stop", index: 0 },
    { type: "message_stop" },
  ];
  const body = Buffer.from(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(""));
  const request = { ...REQUEST, max_tokens: 9, stream: false };
  const translation = createTranslation("messages", inputFor(request, { upstream: "messages" }));
  const message: unknown = JSON.parse(translation.response(body, createMeter(0)).toString());
  expect(message).toMatchObject({ content: [{ signature: "" }] });
});
