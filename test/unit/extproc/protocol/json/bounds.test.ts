import { describe, expect, test } from "vitest";
import { GatewayError } from "../../../../../contract/errors.ts";
import {
  createEmbeddedJson,
  createStructureCount,
  ExcessiveStructure,
  parseWithin,
  REQUEST_BOUNDS,
} from "../../../../../extproc/protocol/json/bounds.ts";
import { MAX_OUTLINE_BYTES } from "../../../../../extproc/protocol/json/outline.ts";
import { parseBody } from "../../../../../extproc/protocol/json/parse-body.ts";
import { createTranslation } from "../../../../../extproc/translate/choose.ts";
import { inputFor } from "../../translate/input.ts";

/** Bodies of much structure and little text: what is beyond the bounds is refused before any of it is parsed (docs/decisions/0031). */
const MEGABYTE = 1_000_000;
const many = (piece: string, bytes = 30 * MEGABYTE) => piece.repeat(Math.floor(bytes / piece.length));
const head = '{"model":"m","max_tokens":9,';
const inMember = (value: string) => `${head}"messages":[{"role":"user","content":"Hello."}],"x":${value}}`;

function refusalOf(text: string): GatewayError {
  try {
    parseBody(Buffer.from(text), { headers: new Map(), interface: "chat" });
  } catch (error) {
    if (error instanceof GatewayError) return error;
    throw error;
  }
  throw new Error("it was taken");
}

test.for<[string, string]>([
  ["opening brackets", many("[")],
  ["opening brackets in a member", inMember(many("["))],
  ["objects in objects", inMember(many('{"a":'))],
  ["empty objects", inMember(`[${many("{},")}{}]`)],
  ["empty lists", inMember(`[${many("[],")}[]]`)],
  ["small numbers", inMember(`[${many("1,")}1]`)],
  ["small strings", inMember(`[${many('"a",')}"a"]`)],
  ["members of one object", inMember(`{${Array.from({ length: 1_000_000 }, (_, index) => `"m${index}":1`).join(",")}}`)],
  ["members of the body", `${head}${Array.from({ length: 1_000_000 }, (_, index) => `"m${index}":1`).join(",")}}`],
  ["one member again and again", `${head}${many('"stop":1,')}"a":1}`],
  ["messages", `${head}"messages":[${many('{"role":"user","content":"x"},')}{}]}`],
  ["100,000 messages", `${head}"messages":[${'{"role":"user","content":"x"},'.repeat(99_999)}{}]}`],
  ["100,000 tools", `${head}"tools":[${'{"name":"f","input_schema":{}},'.repeat(99_999)}{}]}`],
  ["a schema", inMember(`{"properties":{${many('"a":{"type":"string"},')}"b":{}}}`)],
  ["structure behind a long string", `${head}"x":"${"a".repeat(MEGABYTE)}","y":[${many("{},")}{}]}`],
  ["structure between long strings", `${head}"x":[${many(`"${"a".repeat(600)}",${"[],".repeat(30)}`)}1]}`],
])("too many values are a 400 that says so: %s", ([, text]) => {
  const { code, status, message } = refusalOf(text);
  expect([code, status]).toEqual(["invalid_request", 400]);
  expect(message).toBe(
    `The request body has more than ${REQUEST_BOUNDS.parts} JSON values. Send fewer messages, tools, inputs or members.`,
  );
});

test("a request for embeddings has four times as many values, but no more members: those take longer", () => {
  const read = (body: string) => parseBody(Buffer.from(body), { headers: new Map(), interface: "embeddings" });
  const members = (count: number) => Array.from({ length: count }, (_, index) => `"m${index}":1`).join(",");
  expect(read(`{"model":"m","input":[${many("1,", 780_000)}1]}`).outline["input"]).toHaveLength(390_001);
  expect(read(`{"input":"${":".repeat(200_000)}","x":{${members(99_998)}}}`).outline).toHaveProperty("x");
  for (const body of [`{"input":"a","x":{${members(100_000)}}}`, `{"input":"a",${members(100_000)}}`])
    expect(() => read(body)).toThrow("The request body has more than 100000 members of JSON objects. Send fewer.");
});

test.for<[string, string]>([
  ["white space", `${head}${many(" ")}"messages":[]}`],
  ["line breaks at the end", `${head}"messages":[]}${many("\n")}`],
  ["digits", inMember(many("1"))],
  ["strings just too short to be left out", inMember(`[${many(`"${"a".repeat(500)}",`)}""]`)],
])("too much outside long strings is a 413 that says so: %s", ([, text]) => {
  const { code, status, message } = refusalOf(text);
  expect([code, status]).toEqual(["request_too_large", 413]);
  expect(message).toContain(`${MAX_OUTLINE_BYTES / 1024 / 1024} MiB outside of its long strings`);
});

test("a large prompt is neither: 30 MB of text, of code, of escapes, in one string or in thousands", () => {
  for (const text of ["prose ", '{\\"a\\": [1, 2]},\\n', "\\u0041\\\\", "é"]) {
    for (const strings of [1, 5_000]) {
      const content = text.repeat(Math.floor((30 * MEGABYTE) / Buffer.byteLength(text) / strings));
      const messages = Array.from({ length: strings }, () => `{"role":"user","content":"${content}"}`);
      const body = parseBody(Buffer.from(`${head}"messages":[${messages.join(",")}]}`), {
        headers: new Map(),
        interface: "chat",
      });
      expect(body.outline["messages"]).toHaveLength(strings);
    }
  }
});

test("quotes, brackets and commas in strings do not count", () => {
  const text = Buffer.from(String.raw`{"a{[,":"\"{[,\\","b":["{",1,{}]}`);
  const count = createStructureCount(REQUEST_BOUNDS);
  let at = count.walk(text, 0);
  // A reader that knows where strings end finds the two objects, the list and their three commas.
  for (const end of [...text.toString().matchAll(/"(?:[^"\\]|\\.)*"/g)].map((found) => found.index + found[0].length)) {
    at = count.walk(text, end);
  }
  expect(at).toBe(text.length);
  expect(count.parts()).toBe(6);
});

test("arguments of all tool calls are bounded together: each is JSON inside a string", () => {
  const bomb = JSON.stringify(`{"a":[${"{},".repeat(40_000)}{}]}`);
  const call = (index: number) => `{"id":"c${index}","type":"function","function":{"name":"f","arguments":${bomb}}}`;
  const request = (calls: number) => {
    const indexes = Array.from({ length: calls }, (_, index) => index);
    const results = indexes.map((index) => `{"role":"tool","tool_call_id":"c${index}","content":"r"}`);
    return `{"model":"m","messages":[{"role":"user","content":"x"},{"role":"assistant","tool_calls":[${indexes.map(call).join(",")}]},${results.join(",")}]}`;
  };
  const translate = (calls: number) => createTranslation("chat", inputFor(request(calls), { upstream: "messages" }));
  expect(translate(1).upstream.body.length).toBeGreaterThan(100_000);
  expect(() => translate(2)).toThrow(
    "`messages[1].tool_calls[1].function.arguments` has more than 100000 JSON values. Send fewer messages, tools, inputs or members.",
  );
});

describe("text from others", () => {
  const bounds = { parts: 10, depth: 3 };
  test("is parsed within bounds, and refused beyond them", () => {
    expect(parseWithin("[1,2,3]", bounds)).toEqual([1, 2, 3]);
    expect(parseWithin(Buffer.from(`["${",[".repeat(20)}"]`), bounds)).toHaveLength(1);
    expect(() => parseWithin("[1,2,3,4,5,6,7,8,9,10,11]", bounds)).toThrow(ExcessiveStructure);
    expect(() => parseWithin("[[[[1        ]]]]", bounds)).toThrow("nested more than 3 deep");
  });

  test("is bounded over several texts, and stays refused", () => {
    const embedded = createEmbeddedJson(bounds);
    expect(embedded.parse("[1,2,3,4]")).toHaveLength(4);
    expect(embedded.parse("[1,2,3,4]")).toHaveLength(4);
    expect(() => embedded.parse("[1,2,3,4]")).toThrow("more than 10 values");
    expect(() => embedded.parse("[1,2]")).toThrow(ExcessiveStructure);
  });
});
