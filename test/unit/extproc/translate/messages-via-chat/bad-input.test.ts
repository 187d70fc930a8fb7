import * as fc from "fast-check";
import { describe, expect, inject, test } from "vitest";
import { GatewayError } from "../../../../../contract/errors.ts";
import { PROFILE_NAMES } from "../../../../../contract/profile.ts";
import { createMeter } from "../../../../../extproc/meter/meter.ts";
import { loadFixtures } from "../../../../golden/harness-fixture.ts";
import { answer, PLAIN, play, translate } from "./chat.ts";

/** Wrong values for anything; most places accept a few of them. */
const VALUES: unknown[] = [
  null,
  0,
  -1,
  1.5,
  true,
  "",
  "x",
  "\ud800",
  [],
  [null],
  {},
  { type: "x" },
  [[]],
  { __proto__: null, constructor: 1 },
];

type Path = readonly (string | number)[];

const requests = loadFixtures("messages-via-chat").map(({ name, request }) => ({ name, request: request.toString("utf8") }));

/** By day only the first of a kind of position below the top level: requests have the same fields again and again. */
const tried = new Set<string>();
const CASES = requests.map(({ name, request }) => {
  const body: unknown = JSON.parse(request);
  const paths = pathsOf(body).filter((path) => path.length > 0);
  return {
    name,
    request,
    paths: inject("isNight") ? paths : paths.filter((path) => path.length === 1 || isFirst(kindOf(body, path))),
  };
});

function isFirst(kind: string): boolean {
  const isNew = !tried.has(kind);
  tried.add(kind);
  return isNew;
}

/** A path without indices, and what says how each object on the way to it is read. */
function kindOf(body: unknown, path: Path): string {
  let value: unknown = body;
  return path
    .map((step) => {
      const { type = "", role = "" } = Object(value);
      value = Reflect.get(Object(value), step);
      return JSON.stringify([type, role, typeof step === "number" ? 0 : step, Array.isArray(value) ? "array" : typeof value]);
    })
    .join();
}

/** Runs a translation that may refuse; anything but a refusal by name is a bug. */
function outcomeOf(request: unknown): "translated" | "refused" {
  const text = JSON.stringify(request);
  const outcome = attempt(() => translate(text).upstream.body);
  if (outcome instanceof GatewayError) {
    const isByName =
      outcome.code === "invalid_request" && outcome.status === 400 && outcome.message.includes(outcome.field ?? "?");
    if (!isByName) throw new Error(`refused otherwise: ${outcome.message}`, { cause: outcome });
    return "refused";
  }
  JSON.parse(outcome.toString("utf8"));
  return "translated";
}

/** What a step makes, or what the gateway answers instead; any other failure is a bug. */
function attempt(step: () => Buffer): Buffer | GatewayError {
  try {
    return step();
  } catch (thrown) {
    if (thrown instanceof GatewayError) return thrown;
    throw thrown;
  }
}

/** Every place inside a JSON value, as a path. */
function pathsOf(value: unknown, path: Path = []): Path[] {
  if (typeof value !== "object" || value === null) return [path];
  const inner = Array.isArray(value)
    ? value.flatMap((element: unknown, index) => pathsOf(element, [...path, index]))
    : Object.entries(value).flatMap(([name, member]) => pathsOf(member, [...path, name]));
  return [path, ...inner];
}

function withValue(text: string, path: Path, value: unknown): unknown {
  const root: { body: unknown } = { body: JSON.parse(text) };
  let holder: object = root;
  let name: string | number = "body";
  for (const step of path) {
    holder = Object(Reflect.get(holder, name));
    name = step;
  }
  Reflect.set(holder, name, value);
  return root.body;
}

describe("a wrong value in any position is refused by name, or harmless (S21)", () => {
  test.for(CASES)("$name", ({ request, paths }) => {
    const outcomes = paths.flatMap((path) => VALUES.map((value) => outcomeOf(withValue(request, path, value))));
    expect(outcomes).toContain("refused");
  });

  test("any JSON at all", () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), fc.jsonValue(), (content, system, tools) => {
        outcomeOf({
          ...PLAIN,
          messages: [
            { role: "user", content },
            { role: "assistant", content: [content] },
          ],
          system,
          tools,
        });
        outcomeOf({
          ...PLAIN,
          thinking: content,
          output_config: system,
          tool_choice: tools,
          stop_sequences: content,
          metadata: system,
        });
      }),
      { numRuns: 500 },
    );
  });

  test("the sentence names the field, its value's type and what to send, and repeats none of it", () => {
    const secret = "my password";
    expect(() => translate({ ...PLAIN, max_tokens: secret })).toThrow(
      "`max_tokens` is a string that is not accepted there. Send a positive integer.",
    );
    expect(() => translate({ ...PLAIN, messages: undefined })).toThrow(
      "`messages` is missing. Send an array with at least one message.",
    );
    expect(() => translate({ ...PLAIN, messages: [{ role: "user", content: [{ type: secret }] }] })).toThrow(
      /^`messages\[0\]\.content\[0\]\.type` is a string that is not accepted there\. Send a content block/,
    );
  });
});

/** Ten times what a busy machine needs; work that is not linear takes minutes. */
/** Anything worse than linear takes longer, on whatever machine. */
const BOUND_MS = 300_000;

describe("absurd input", () => {
  const nested = (depth: number) => `${'{"a":['.repeat(depth)}1${"]}".repeat(depth)}`;
  const user = (content: string) => `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":${content}}]}`;

  test("schemas and tool inputs nested deeper than the stack pass unchanged", () => {
    const deep = nested(15_000);
    const body = `{"model":"m","max_tokens":9,"tools":[{"name":"f","strict":true,"input_schema":${deep}}],"output_config":{"format":{"type":"json_schema","schema":${deep}}},"messages":[{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":${deep}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a"}]}]}`;
    const upstream = translate(body).upstream.body.toString("utf8");
    expect(upstream).toContain(`"parameters":${deep}`);
    expect(upstream).toContain(`"schema":${deep}`);
    expect(upstream).toContain(`"arguments":${JSON.stringify(deep)}`);
  });

  test("the same in positions that we read is refused", () => {
    const deep = nested(15_000);
    expect(() => translate(user(deep))).toThrow(GatewayError);
    expect(() => translate(user(`[${deep}]`))).toThrow(GatewayError);
    expect(translate(`{"deep":${deep},${user('"x"').slice(1)}`).dropped).toEqual(["deep"]);
  });

  test("of several members with one name the last counts, as with JSON.parse", () => {
    const body =
      '{"model":"m","model":"n","max_tokens":9,"messages":[],"messages":[{"role":"user","content":"x"}],"tools":[{"name":"f","input_schema":{"type":"object","properties":{"a":1}},"input_schema":{"type":"object","properties":{"b":1}}}]}';
    expect(JSON.parse(translate(body).upstream.body.toString())).toMatchObject({
      messages: [{ content: "x" }],
      tools: [{ function: { parameters: { properties: { b: 1 } } } }],
    });
  });

  test("lone surrogates are preserved, and the upstream's bytes are UTF-8", () => {
    const body = translate(user('"a\\ud800b"')).upstream.body;
    expect(body.toString("utf8")).toContain("a\\ud800b");
    expect(JSON.parse(body.toString("utf8"))).toMatchObject({ messages: [{ content: "a\ud800b" }] });
  });

  test("32 MB of text, and the maximum number of small blocks and turns, pass in bounded time", { timeout: BOUND_MS }, () => {
    translate(user(`"${"x".repeat(32_000_000)}"`));
    translate(user(`[${Array(30_000).fill('{"type":"text","text":"x"}').join(",")}]`));
    translate(
      `{"model":"m","max_tokens":9,"messages":[${Array(16_000).fill('{"role":"user","content":"x"},{"role":"assistant","content":"y"}').join(",")},{"role":"user","content":"z"}]}`,
    );
  });

  test("a huge answer in small pieces takes linear time", { timeout: BOUND_MS }, () => {
    const stream = translate({ ...PLAIN, stream: true }).stream(createMeter(0));
    const piece = (value: string) =>
      Buffer.from(
        `data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":${JSON.stringify(value)}}}]}}]}\n\n`,
      );
    stream.push(piece("["));
    for (let count = 0; count < 50_000; count += 1) stream.push(piece("1234567890,"));
    stream.push(piece("1]"));
    stream.push(Buffer.from("data: [DONE]\n\n"));
    expect(stream.outcome()).toBe("complete");
  });
});

describe("an answer with more tool calls than any model makes", () => {
  const call = (index: number) => ({ index, id: `c${index}`, type: "function", function: { name: "f", arguments: "{}" } });
  const calls = (count: number) => Array.from({ length: count }, (_, index) => call(index));

  test("is refused, complete and as a stream", { timeout: BOUND_MS }, () => {
    const message = { role: "assistant", content: null, tool_calls: calls(90_000) };
    expect(() => answer({ choices: [{ message, finish_reason: "tool_calls" }] })).toThrow("more than 4096 tool calls");
    const chunks = calls(90_000).map((each) => ({ choices: [{ delta: { tool_calls: [each] } }] }));
    const { text, outcome } = play(chunks);
    expect(outcome).toBe("failed");
    expect(text).toContain("more than 4096 tool calls");
  });

  test("and thousands are read, each in its position, whatever the order of their pieces", () => {
    const begun = calls(4_000).map((each) => ({ ...each, function: { name: "f", arguments: "" } }));
    const rest = calls(4_000).map(({ index }) => ({ index, function: { arguments: JSON.stringify({ index }) } }));
    const chunks = [...begun, ...rest.toReversed()].map((each) => ({ choices: [{ delta: { tool_calls: [each] } }] }));
    const { text, outcome } = play([...chunks, { choices: [{ delta: {}, finish_reason: "tool_calls" }] }, "[DONE]"]);
    expect(outcome).toBe("complete");
    const inputs = [...text.matchAll(/"partial_json":"\{\\"index\\":(\d+)\}"/g)].map(([, index]) => Number(index));
    expect(inputs).toEqual(rest.map(({ index }) => index));
  });

  test.for([
    ["text", { content: "x".repeat(1_000_000) }, 40],
    ["many blocks", { reasoning_content: "x", content: "y" }, 10_000],
    ["arguments that are no object", { tool_calls: [{ index: 0, function: { arguments: "1".repeat(1_000_000) } }] }, 40],
  ] as const)("endless %s do not wait in memory for a call that never ends", ([, delta, count]) => {
    const start = { index: 0, id: "a", function: { name: "f", arguments: "tool_calls" in delta ? "[" : "{" } };
    const chunks = [{ tool_calls: [start] }, ...Array.from({ length: count }, () => delta)];
    const { text, outcome } = play(chunks.map((each) => ({ choices: [{ delta: each }] })));
    expect(outcome).toBe("failed");
    expect(text).toContain("sent too much other content before a tool call was complete");
  });
});

describe("an upstream's absurd answer is an upstream error or a correct answer", () => {
  test("any JSON, complete and as a chunk", () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), fc.constantFrom(...PROFILE_NAMES), (json, inner, profile) => {
        const shapes = [
          json,
          { choices: json },
          { choices: [json] },
          { choices: [{ message: json, delta: inner, finish_reason: inner }] },
          {
            choices: [
              {
                delta: { content: inner, tool_calls: [json], reasoning_details: inner },
                message: { content: json, tool_calls: inner },
              },
            ],
            usage: json,
            id: inner,
          },
        ];
        for (const shape of shapes) {
          const text = JSON.stringify(shape);
          expectAnswerOrError(() => translate(PLAIN, { profile }).response(Buffer.from(text), createMeter(0)));
          const stream = translate({ ...PLAIN, stream: true }, { profile }).stream(createMeter(0));
          stream.push(Buffer.from(`data: ${text}\n\n`));
          stream.end();
          expect(stream.outcome()).not.toBe("open");
        }
      }),
      { numRuns: 300 },
    );
  });

  test("arguments nested deeper than the stack stay unchanged", () => {
    const deep = `${'{"a":['.repeat(50_000)}1${"]}".repeat(50_000)}`;
    const body = JSON.stringify({
      choices: [
        { message: { tool_calls: [{ id: "a", function: { name: "f", arguments: deep } }] }, finish_reason: "tool_calls" },
      ],
    });
    expect(translate(PLAIN).response(Buffer.from(body), createMeter(0)).toString()).toContain(`"input":${deep}`);
    expectAnswerOrError(() => translate(PLAIN).response(Buffer.from(body.replace(JSON.stringify(deep), deep)), createMeter(0)));
  });
});

function expectAnswerOrError(step: () => Buffer): void {
  const outcome = attempt(step);
  const seen: unknown = outcome instanceof GatewayError ? { stop_reason: outcome.code } : JSON.parse(outcome.toString("utf8"));
  expect(seen).toMatchObject({ stop_reason: expect.not.stringMatching("internal_error") });
}
