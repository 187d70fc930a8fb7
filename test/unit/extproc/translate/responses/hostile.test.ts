import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { GatewayError } from "../../../../../contract/errors.ts";
import type { Protocol } from "../../../../../contract/protocol.ts";
import { createMeter } from "../../../../../extproc/meter/meter.ts";
import { createTranslation } from "../../../../../extproc/translate/choose.ts";
import { readEnding } from "../../../../golden/harness-terminal.ts";
import { missingFieldsOf, wrongTypesOf } from "../../../../support/wire/wrong-types.ts";
import { inputFor } from "../input.ts";

/** Uses every field and every kind of item that the translation reads. */
const FULL = {
  model: "modelx-v4-pro",
  instructions: "s",
  max_output_tokens: 5000,
  temperature: 0.5,
  top_p: 0.9,
  stream: true,
  parallel_tool_calls: false,
  reasoning: { effort: "high", summary: "auto" },
  text: { format: { type: "json_schema", name: "n", schema: { type: "object" } }, verbosity: "low" },
  include: ["reasoning.encrypted_content"],
  metadata: { a: "b" },
  user: "u",
  safety_identifier: "s",
  store: false,
  tools: [
    { type: "function", name: "f", description: "d", parameters: { type: "object", properties: {} }, strict: true },
    { type: "custom", name: "c", description: "d", format: { type: "text" } },
    { type: "namespace", name: "n", description: "d", tools: [{ type: "function", name: "g", parameters: {} }] },
  ],
  tool_choice: { type: "allowed_tools", mode: "auto", tools: [{ type: "function", name: "f" }] },
  input: [
    { role: "developer", content: "s" },
    { type: "message", role: "user", content: [{ type: "input_image", image_url: "https://example.com/a.png", detail: "low" }] },
    { role: "user", content: [{ type: "input_file", filename: "f", file_data: "data:text/plain;base64,aGk=" }] },
    { type: "reasoning", id: "r", summary: [{ type: "summary_text", text: "t" }], content: [], encrypted_content: "x" },
    {
      role: "assistant",
      content: [
        { type: "output_text", text: "a", annotations: [] },
        { type: "refusal", refusal: "r" },
      ],
    },
    { type: "function_call", call_id: "1", name: "g", namespace: "n", arguments: "{}" },
    { type: "custom_tool_call", call_id: "2", name: "c", input: "i" },
    { type: "function_call_output", call_id: "1", output: [{ type: "input_text", text: "ok" }] },
    { type: "custom_tool_call_output", call_id: "2", output: "ok" },
  ],
};

const UPSTREAMS = ["chat", "messages"] as const;

/** The translation's outcome: a body of valid JSON, or a refusal that names a field. Anything else throws on. */
function attempt(request: object | string, upstream: Protocol): "translated" | "refused" {
  try {
    const { upstream: sent } = createTranslation(
      "responses",
      inputFor(request, { upstream, flags: { thinkingControl: "budget" } }),
    );
    JSON.parse(sent.body.toString("utf8"));
    return "translated";
  } catch (thrown) {
    if (!(thrown instanceof GatewayError) || thrown.status !== 400 || thrown.field === null) throw thrown;
    // What goes on inside has other words for the same things.
    if (/messages\[|\btool_use\b|max_tokens/.test(`${thrown.field} ${thrown.message}`)) throw thrown;
    return "refused";
  }
}

describe.for(UPSTREAMS)("a request with an error in it is translated or refused by field, for a %s server", (upstream) => {
  test("the base request is translated", () => {
    expect(attempt(FULL, upstream)).toBe("translated");
  });

  test("any wrong value in any position, or none", () => {
    const outcomes = [...wrongTypesOf(FULL), ...missingFieldsOf(FULL)].map(({ body }) => attempt(JSON.stringify(body), upstream));
    expect(outcomes).toContain("refused");
    expect(outcomes).toContain("translated");
  });

  test("any JSON under any field", () => {
    const names = fc.constantFrom(...Object.keys(FULL), "unknown", "__proto__", "constructor", "toString", "hasOwnProperty");
    fc.assert(
      fc.property(fc.array(fc.tuple(names, fc.jsonValue()), { maxLength: 5 }), (members) => {
        const json = members.map(([name, value]) => `,${JSON.stringify(name)}:${JSON.stringify(value)}`).join("");
        expect(["translated", "refused"]).toContain(attempt(`{"model":"m","input":"hi"${json}}`, upstream));
      }),
      { numRuns: 1000 },
    );
  });

  test("duplicate names: the last one counts, in raw text as in parsed", () => {
    const tools = (type: string) =>
      `[{"type":"function","name":"f","parameters":{"type":"object","properties":{},"x":"${type}"}}]`;
    const request = `{"model":"m","tools":${tools("first")},"input":"hi","tools":${tools("last")}}`;
    const { upstream: sent } = createTranslation("responses", inputFor(request, { upstream }));
    expect(sent.body.toString()).toContain('{"type":"object","properties":{},"x":"last"}');
    expect(sent.body.toString()).not.toContain("first");
  });
});

describe.for(UPSTREAMS)("nesting of 10,000 and more, for a %s server", (upstream) => {
  const deep = "[".repeat(50_000) + "]".repeat(50_000);
  const deepObject = '{"a":'.repeat(50_000) + "1" + "}".repeat(50_000);
  const plain = '"model":"m","input":"hi"';

  test.for([
    ["in a tool's schema", `{${plain},"tools":[{"type":"function","name":"f","parameters":${deepObject}}]}`, "translated"],
    ["in a response schema", `{${plain},"text":{"format":{"type":"json_schema","schema":${deepObject}}}}`, "translated"],
    ["in metadata", `{${plain},"metadata":${deepObject}}`, "translated"],
    ["in an unknown field", `{${plain},"x":${deep}}`, "translated"],
    [
      "in a call's arguments",
      `{"model":"m","input":[{"role":"user","content":"x"},{"type":"function_call","call_id":"c","name":"f","arguments":${JSON.stringify(deepObject)}},{"type":"function_call_output","call_id":"c","output":"r"}]}`,
      "translated",
    ],
    ["in content", `{"model":"m","input":[{"role":"user","content":${deep}}]}`, "refused"],
    ["in the input", `{"model":"m","input":${deep}}`, "refused"],
  ] as const)("%s", ([, request, expected]) => {
    expect(attempt(request, upstream)).toBe(expected);
  });
});

test("any events from the server end once, and are never a bug", () => {
  const event = fc.oneof(
    fc.constantFrom(
      '{"type":"message_start","message":{"id":"m","usage":{"input_tokens":1}}}',
      '{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"a"}}',
      '{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"f","input":{}}}',
      '{"type":"content_block_start","index":1,"content_block":{"type":"thinking","thinking":"","signature":""}}',
      '{"type":"content_block_start","index":2,"content_block":{"type":"redacted_thinking","data":"x"}}',
      '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"b"}}',
      '{"type":"content_block_delta","index":1,"delta":{"type":"thinking_delta","thinking":"b"}}',
      '{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{"}}',
      '{"type":"content_block_delta","index":1,"delta":{"type":"signature_delta","signature":"c2ln"}}',
      '{"type":"content_block_stop","index":0}',
      '{"type":"content_block_stop","index":1}',
      '{"type":"message_delta","delta":{"stop_reason":"max_tokens"},"usage":{"output_tokens":3}}',
      '{"type":"message_stop"}',
      '{"type":"ping"}',
    ),
    fc.json(),
    fc.string(),
  );
  fc.assert(
    fc.property(fc.array(event, { maxLength: 12 }), (events) => {
      const request = { model: "m", input: "hi", stream: true, include: ["reasoning.encrypted_content"] };
      const stream = createTranslation("responses", inputFor(request, { upstream: "messages" })).stream(createMeter(1));
      const bytes = Buffer.from(events.map((data) => `data: ${data.replaceAll(/[\r\n]/g, " ")}\n\n`).join(""));
      const text = stream.push(bytes).toString() + stream.end().toString();
      expect(readEnding("responses", text)).toBe(stream.outcome() === "complete" ? "clean" : "error");
    }),
    { numRuns: 500 },
  );
});
