import * as fc from "fast-check";
import { describe, expect, inject, test } from "vitest";
import { GatewayError } from "../../../../../contract/errors.ts";
import { createMeter } from "../../../../../extproc/meter/meter.ts";
import { createTranslation } from "../../../../../extproc/translate/choose.ts";
import { readEnding } from "../../../../golden/harness-terminal.ts";
import { inputFor } from "../input.ts";

const tool = { name: "f", description: "d", parameters: { type: "object", properties: {} }, strict: true };

/** Uses every field and every kind of message that the translation reads. */
const FULL = {
  model: "modelx-v4-pro",
  max_tokens: 5000,
  max_completion_tokens: 5000,
  temperature: 0.5,
  top_p: 0.9,
  top_k: 4,
  stop: ["a"],
  n: 1,
  stream: true,
  stream_options: { include_usage: true },
  user: "u",
  safety_identifier: "s",
  service_tier: "auto",
  parallel_tool_calls: false,
  prompt_cache_retention: "24h",
  logprobs: false,
  top_logprobs: 0,
  modalities: ["text"],
  reasoning_effort: "high",
  reasoning: { effort: "low", max_tokens: 2000, exclude: false, enabled: true },
  thinking: { type: "enabled", budget_tokens: 2000 },
  chat_template_kwargs: { enable_thinking: true },
  response_format: { type: "json_schema", json_schema: { name: "n", schema: { type: "object" } } },
  tools: [
    { type: "function", function: tool, cache_control: { type: "ephemeral" } },
    { type: "custom", custom: { name: "c", description: "d", format: { type: "text" } } },
    { type: "function", ...tool, name: "flat" },
  ],
  tool_choice: { type: "allowed_tools", allowed_tools: { mode: "auto", tools: [{ type: "function", function: { name: "f" } }] } },
  functions: [tool],
  function_call: { name: "f" },
  messages: [
    {
      role: "system",
      content: [{ type: "text", text: "s", cache_control: { type: "ephemeral", ttl: "1h" }, prompt_cache_breakpoint: {} }],
    },
    { role: "user", content: [{ type: "image_url", image_url: { url: "https://example.com/a.png", detail: "low" } }] },
    { role: "user", content: [{ type: "file", file: { filename: "f", file_data: "data:application/pdf;base64,AA==" } }] },
    {
      role: "assistant",
      content: "x",
      refusal: "r",
      reasoning_content: "t",
      reasoning_details: [{ type: "reasoning.text", text: "t", signature: "c2ln", format: "anthropic-claude-v1", index: 0 }],
      tool_calls: [
        { id: "1", type: "function", function: { name: "f", arguments: "{}" } },
        { id: "2", type: "custom", custom: { name: "c", input: "i" } },
      ],
      function_call: { name: "f", arguments: "{}" },
    },
    { role: "tool", tool_call_id: "1", content: [{ type: "text", text: "ok" }] },
    { role: "function", name: "f", content: "ok" },
  ],
};

const WRONG = [null, true, 5, -1.5, "x", "", "\ud800", [], [[]], {}, [{}], { type: {} }, ["x"], { __proto__: null }];

/** The translation's outcome: a body of valid JSON, or a refusal that names a field. Anything else throws on. */
function attempt(request: object | string, upstream: "adaptive" | "budget" = "budget"): "translated" | "refused" {
  try {
    const { upstream: sent } = createTranslation(
      "chat",
      inputFor(request, { upstream: "messages", flags: { thinkingControl: upstream } }),
    );
    JSON.parse(sent.body.toString("utf8"));
    return "translated";
  } catch (thrown) {
    if (!(thrown instanceof GatewayError) || thrown.status !== 400 || thrown.field === null) throw thrown;
    return "refused";
  }
}

describe("a request with an error in it is translated or refused by field", () => {
  test("the base request is translated", () => {
    expect(attempt(FULL)).toBe("translated");
  });

  test("any wrong value in any position", () => {
    const outcomes = pathsOf(FULL).flatMap((path) => WRONG.map((wrong) => attempt(withValue(FULL, path, wrong))));
    expect(outcomes).toContain("refused");
    expect(outcomes).toContain("translated");
  });

  test("any JSON under any field", () => {
    const names = fc.constantFrom(...Object.keys(FULL), "unknown", "__proto__", "constructor", "toString", "hasOwnProperty");
    fc.assert(
      fc.property(fc.array(fc.tuple(names, fc.jsonValue()), { maxLength: 5 }), (members) => {
        const json = members.map(([name, value]) => `,${JSON.stringify(name)}:${JSON.stringify(value)}`).join("");
        expect(["translated", "refused"]).toContain(attempt(`{"model":"m","messages":[{"role":"user","content":"hi"}]${json}}`));
      }),
      { numRuns: inject("isNight") ? 1000 : 400 },
    );
  });

  test("duplicate names: the last one counts, in raw text as in parsed", () => {
    const schema = (type: string) => `[{"type":"function","function":{"name":"f","parameters":{"type":"object","x":"${type}"}}}]`;
    const request = `{"model":"m","tools":${schema("first")},"messages":[{"role":"user","content":"hi"}],"tools":${schema("last")}}`;
    const { upstream } = createTranslation("chat", inputFor(request, { upstream: "messages" }));
    expect(upstream.body.toString()).toContain('"input_schema":{"type":"object","x":"last"}');
    expect(upstream.body.toString()).not.toContain("first");
  });
});

describe("nesting of 10,000 and more", () => {
  const deep = "[".repeat(50_000) + "]".repeat(50_000);
  const deepObject = '{"a":'.repeat(50_000) + "1" + "}".repeat(50_000);
  const plain = '"model":"m","messages":[{"role":"user","content":"hi"}]';

  test.for([
    [
      "in a tool's schema",
      `{${plain},"tools":[{"type":"function","function":{"name":"f","parameters":${deepObject}}}]}`,
      "translated",
    ],
    [
      "in a response schema",
      `{${plain},"response_format":{"type":"json_schema","json_schema":{"schema":${deepObject}}}}`,
      "translated",
    ],
    ["in an unknown field", `{${plain},"unknown":${deep}}`, "translated"],
    ["in a dropped field", `{${plain},"logit_bias":${deepObject}}`, "translated"],
    [
      "in reasoning_details",
      `{"model":"m","messages":[{"role":"assistant","content":"x","reasoning_details":${deep}}]}`,
      "translated",
    ],
    [
      "in cache marks",
      `{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"x","cache_control":${deepObject}}]}]}`,
      "translated",
    ],
    [
      "in the text of arguments",
      `{"model":"m","messages":[{"role":"assistant","tool_calls":[{"id":"1","function":{"name":"f","arguments":${JSON.stringify(deepObject)}}}]}]}`,
      "translated",
    ],
    [
      "in arguments sent as an object",
      `{"model":"m","messages":[{"role":"assistant","tool_calls":[{"id":"1","function":{"name":"f","arguments":${deepObject}}}]}]}`,
      "refused",
    ],
    ["in content", `{"model":"m","messages":[{"role":"user","content":${deep}}]}`, "refused"],
    ["in messages", `{"model":"m","messages":${deep}}`, "refused"],
  ] as const)("%s", ([, request, outcome]) => {
    expect(attempt(request)).toBe(outcome);
  });

  test("in an answer's tool input, which passes unchanged", () => {
    const answer = `{"type":"message","content":[{"type":"tool_use","id":"t","name":"f","input":${deepObject}}],"stop_reason":"tool_use"}`;
    const translation = createTranslation("chat", inputFor(`{${plain}}`, { upstream: "messages" }));
    const completion: { choices: { message: { tool_calls: { function: { arguments: string } }[] } }[] } = JSON.parse(
      translation.response(Buffer.from(answer), createMeter(1)).toString(),
    );
    expect(completion.choices[0]?.message.tool_calls[0]?.function.arguments).toBe(deepObject);
  });
});

test("a prompt of 30 MB is translated in one pass", () => {
  const request = JSON.stringify({ model: "m", messages: [{ role: "user", content: 'é"\n'.repeat(6_000_000) }] });
  expect(attempt(request)).toBe("translated");
});

test("whatever an upstream streams, the client's stream ends exactly once", () => {
  const index = fc.constantFrom(0, 1, 7, -1, "0", null);
  const text = fc.constantFrom("", "a", "{", 5, null);
  const block = fc.record({
    type: fc.constantFrom("text", "thinking", "tool_use", "redacted_thinking", "server_tool_use", 5),
    text,
    thinking: text,
    id: text,
    name: fc.constantFrom("f", "", 5),
    input: fc.constantFrom({}, { a: 1 }, "x", null),
  });
  const delta = fc.record({
    type: fc.constantFrom("text_delta", "thinking_delta", "signature_delta", "input_json_delta", "citations_delta", "new", null),
    text,
    thinking: text,
    signature: text,
    partial_json: text,
    citation: fc.constantFrom({ url: "u" }, {}, null),
  });
  const type = fc.constantFrom(
    "message_start",
    "content_block_start",
    "content_block_delta",
    "content_block_stop",
    "message_delta",
    "message_stop",
    "ping",
    "error",
    "new",
    null,
  );
  const event = fc.record(
    {
      type,
      index,
      content_block: block,
      delta,
      message: fc.constantFrom({}, { id: "x", usage: { input_tokens: "x" } }, null),
      usage: fc.constantFrom(undefined, null, { output_tokens: -1 }, { output_tokens: 3 }),
    },
    { requiredKeys: ["type"] },
  );
  const data = fc.oneof(
    { weight: 9, arbitrary: event.map((value) => JSON.stringify(value)) },
    fc.constantFrom("[DONE]", "{", "[]", "null", "x\ny"),
  );

  fc.assert(
    fc.property(fc.array(data, { maxLength: 12 }), (events) => {
      const request = { model: "m", messages: [{ role: "user", content: "hi" }], stream: true };
      const stream = createTranslation("chat", inputFor(request, { upstream: "messages" })).stream(createMeter(1));
      const output = events.map((data) => stream.push(Buffer.from(`data: ${data.replaceAll("\n", "\ndata: ")}\n\n`)).toString());
      const ending = readEnding("chat", output.join("") + stream.end().toString());
      expect(ending).toBe(stream.outcome() === "complete" ? "clean" : "error");
      expect(stream.end()).toHaveLength(0);
      expect(stream.fail(new GatewayError("internal_error", "late"))).toHaveLength(0);
      expect(stream.push(Buffer.from('data: {"type":"ping"}\n\n'))).toHaveLength(0);
    }),
    { numRuns: inject("isNight") ? 2000 : 700 },
  );
});

/** The place of every value in a JSON value, as the names and indices that lead there. */
function pathsOf(value: unknown): string[][] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) => [[name], ...pathsOf(member).map((path) => [name, ...path])]);
}

function withValue(root: object, path: readonly string[], wrong: unknown): object {
  const copy: object = structuredClone(root);
  let holder: object = copy;
  for (const name of path.slice(0, -1)) holder = Reflect.get(holder, name);
  Reflect.set(holder, path.at(-1) ?? "", wrong);
  return copy;
}
