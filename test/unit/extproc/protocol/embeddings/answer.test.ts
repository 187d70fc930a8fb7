import { describe, expect, test } from "vitest";
import { GatewayError } from "../../../../../contract/errors.ts";
import { readEmbeddingsAnswer } from "../../../../../extproc/protocol/embeddings/answer.ts";
import { editMembers, replace } from "../../../../../extproc/protocol/json/splice.ts";
import { READER } from "../../error-reader.ts";

const VECTOR = { object: "embedding", index: 0, embedding: [0.25, -1e-9] };
const REST = { object: "list", model: "inner", usage: { prompt_tokens: 5, total_tokens: 5 } };

function read(answer: object | string, inputs = 1) {
  return readEmbeddingsAnswer(Buffer.from(typeof answer === "string" ? answer : JSON.stringify(answer)), inputs, READER);
}

describe("an answer is read without its vectors", () => {
  test.for<[string, object | string]>([
    ["as OpenAI writes it", { object: "list", data: [VECTOR], model: "inner", usage: REST.usage }],
    ["with its vectors last", { ...REST, data: [VECTOR] }],
    ["with its vectors first", { data: [VECTOR], ...REST }],
    ["with another array in front", { tags: [["]"]], ...REST, data: [VECTOR] }],
    ["with another array behind", { data: [VECTOR], ...REST, tags: [["["]] }],
    ["with brackets in texts", { note: "[", data: [{ ...VECTOR, embedding: "AA==" }], ...REST, other: "]" }],
    ["with arrays inside another member", { meta: { a: [1], data: [2] }, data: [VECTOR], ...REST, more: { b: [3] } }],
    ["over several lines", JSON.stringify({ data: [VECTOR], ...REST }, null, 2)],
  ])("%s", ([, answer]) => {
    const text = typeof answer === "string" ? answer : JSON.stringify(answer);
    const { inputTokens, outline } = read(text);
    expect(inputTokens).toBe(5);
    expect(JSON.parse(outline.text.toString("utf8"))).toMatchObject({ data: [] });
    const renamed = editMembers(Buffer.from(text), { model: replace("mine") }, outline).toString("utf8");
    expect(JSON.parse(renamed)).toEqual({ ...JSON.parse(text), model: "mine" });
  });

  test.for<[string, object, number | undefined]>([
    ["reports nothing", {}, undefined],
    ["reports null", { usage: null }, undefined],
    ["reports a total", { usage: { total_tokens: 4 } }, 4],
    ["reports nonsense", { usage: { prompt_tokens: "4" } }, Number.NaN],
  ])("of a server that %s", ([, reported, tokens]) => {
    expect(read({ data: [VECTOR], ...reported }).inputTokens).toBe(tokens);
  });
});

describe("invalid answers", () => {
  test.for<[string, string, string, number]>([
    ["an error with 200", '{"error":{"message":"too long","code":400}}', "invalid_request", 400],
    ["nothing", "", "upstream_error", 502],
    ["a page", "<html>[]</html>", "upstream_error", 502],
    ["a list", "[1,2]", "upstream_error", 502],
    ["no list", '{"data":{}}', "upstream_error", 502],
    ["no vector", JSON.stringify({ data: [], ...REST }), "upstream_error", 502],
    ["no vector beside other arrays", JSON.stringify({ tags: [1], data: [], ...REST }, null, 2), "upstream_error", 502],
    ["a cut answer", '{"data":[{"embedding":[1,2', "upstream_error", 502],
    ["more beside the vectors than is read", `{"data":[],"note":"${"a".repeat(100_000)}"}`, "upstream_error", 502],
    ["brackets alone", "[".repeat(100_000), "upstream_error", 502],
  ])("%s", ([, answer, code, status]) => {
    const refusal = expect.objectContaining({ code, status });
    expect(() => read(answer)).toThrow(refusal);
    expect(() => read(answer)).toThrow(GatewayError);
  });
});

describe("an embedding for each input", () => {
  const vector = (index: unknown, more: object = {}) => ({ ...VECTOR, index, ...more });
  const unnumbered = { object: "embedding", embedding: "AAAA" };

  test.for<[string, object[]]>([
    ["in order", [vector(0), vector(1), vector(2)]],
    ["in another order", [vector(2), vector(0), vector(1)]],
    ["without indexes", [unnumbered, unnumbered, unnumbered]],
    ["with null for indexes", [vector(null), vector(null), vector(null)]],
    ["with brackets and quotes in their texts", [vector(0, { note: 'a"]}[{' }), vector(1), vector(2)]],
    ["with several vectors each", [0, 1, 2].map((index) => ({ index, embeddings: [[1, 2], [3]] }))],
    ["in strings", [0, 1, 2].map((index) => ({ index, embedding: "AAAA" }))],
  ])("%s", ([, data]) => {
    expect(read({ ...REST, data }, 3).inputTokens).toBe(5);
    expect(read(JSON.stringify({ ...REST, data }, null, 2), 3).inputTokens).toBe(5);
  });

  test.for<[string, object[], string]>([
    ["one too few", [vector(0), vector(1)], "has 2 embeddings, and the request has 3 inputs"],
    ["one too many", [0, 1, 2, 3].map(() => unnumbered), "has 4 embeddings, and the request has 3 inputs"],
    ["an index twice", [vector(0), vector(1), vector(1)], "two embeddings for one input"],
    ["an index of no input", [vector(0), vector(1), vector(3)], "or one for none"],
    ["an index below zero", [vector(0), vector(-1), vector(1)], "or one for none"],
    ["an embedding that is null", [vector(0), vector(1, { embedding: null }), vector(2)], "an embedding without numbers"],
    ["an empty embedding", [vector(0), vector(1, { embedding: [] }), vector(2)], "an embedding without numbers"],
    ["an empty text", [vector(0), vector(1, { embedding: "" }), vector(2)], "an embedding without numbers"],
    ["no objects", [[1], [2], [3]], "has no embedding"],
  ])("is required: %s", ([, data, message]) => {
    const refusal = expect.objectContaining({ code: "upstream_error", message: expect.stringContaining(message) });
    expect(() => read({ ...REST, data }, 3)).toThrow(refusal);
    expect(() => read(JSON.stringify({ ...REST, data }, null, 2), 3)).toThrow(refusal);
  });
});

test("vectors, most of an answer, are skipped rather than parsed", () => {
  expect(read('{"data":[{"embedding":[0.25,unread,-1e-9]}],"model":"m","usage":{"prompt_tokens":5}}').inputTokens).toBe(5);
});
