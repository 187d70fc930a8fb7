import { describe, expect, test } from "vitest";
import { GatewayError } from "../../../../../contract/errors.ts";
import { MAX_INPUT_TOKENS, MAX_INPUTS, type Inputs } from "../../../../../extproc/protocol/embeddings/input.ts";
import { readEmbeddingsRequest } from "../../../../../extproc/protocol/embeddings/request.ts";
import { parseBody } from "../../../../../extproc/protocol/json/parse-body.ts";

const LONG = "word ".repeat(1_000);

function read(request: object | string): Inputs {
  const text = typeof request === "string" ? request : JSON.stringify({ model: "m", ...request });
  return readEmbeddingsRequest(parseBody(Buffer.from(text), { headers: new Map(), interface: "embeddings" })).inputs;
}

function refusalOf(request: object | string): GatewayError {
  try {
    read(request);
  } catch (error) {
    if (error instanceof GatewayError) return error;
    throw error;
  }
  throw new Error("it was accepted");
}

describe("the four forms of `input` (S46)", () => {
  test.for<[string, unknown, Inputs]>([
    ["a text", "hello", { textBytes: [5], tokens: [] }],
    ["a long text", LONG, { textBytes: [LONG.length], tokens: [] }],
    ["texts, long ones among them", ["a", LONG, "bc"], { textBytes: [1, LONG.length, 2], tokens: [] }],
    ["text with quotes and brackets", ['a"]', "[b"], { textBytes: [4, 2], tokens: [] }],
    ["token ids", [1, 2, 3], { textBytes: [], tokens: [3] }],
    ["arrays of token ids", [[1], [2, 100_000]], { textBytes: [], tokens: [1, 2] }],
  ])("%s", ([, input, inputs]) => {
    expect(read({ input })).toEqual(inputs);
  });

  test("fields that do not concern the gateway pass unread", () => {
    const request = { input: "a", dimensions: 256, encoding_format: "base64", user: "u", truncate: true, input_type: "query" };
    expect(read(request).textBytes).toEqual([1]);
    expect(read({ input: "a", dimensions: null, encoding_format: null, user: null, messages: null }).textBytes).toEqual([1]);
  });
});

describe("errors are named (S21)", () => {
  test.for<[string, object | string, string, string]>([
    ["no input", {}, "input", "is missing"],
    ["no input but messages", { messages: [] }, "input", "`messages` belongs to POST /v1/chat/completions"],
    ["input and messages", { input: "a", messages: [] }, "messages", "Send `input` alone."],
    ["null", { input: null }, "input", "is null"],
    ["an object", { input: {} }, "input", "is an object"],
    ["an empty text", { input: "" }, "input", "is an empty string"],
    ["an empty array", { input: [] }, "input", "is an empty array"],
    ["an empty text among long ones", { input: [LONG, "", LONG] }, "input[1]", "is an empty string"],
    ["a text after ids", { input: [1, "a"] }, "input[1]", "Send a token id"],
    ["ids after a text", { input: ["a", [1]] }, "input[1]", "Send a string, as the first input is."],
    ["a picture", { input: [{ image: "https://example.test/a.png" }] }, "input[0]", "is an object"],
    ["no ids", { input: [[1], []] }, "input[1]", "Send at least one token id."],
    ["a negative id", { input: [[1, -2]] }, "input[0][1]", "Send a token id"],
    ["half an id", { input: [1.5] }, "input[0]", "Send a token id"],
    ["an id that no vocabulary has", { input: [2 ** 31] }, "input[0]", "Send a token id"],
    ["no dimensions", { input: "a", dimensions: 0 }, "dimensions", "Send a whole number from 1 to 65536."],
    ["dimensions in words", { input: "a", dimensions: "256" }, "dimensions", "is a string"],
    ["another encoding", { input: "a", encoding_format: "int8" }, "encoding_format", 'Send "float" or "base64".'],
    ["a user that is a number", { input: "a", user: 7 }, "user", "Send a string."],
    ["another spelling", { Input: "a" }, "Input", "Send `input`."],
    ["input twice", '{"model":"m","input":"a","input":"b"}', "input", "appears twice"],
    ["other models", { input: "a", fallbacks: ["x"] }, "fallbacks", "the price is that of `model`"],
    ["a nested input", { input: "a", extra_body: { input: "b" } }, "extra_body.input", "at the top level"],
  ])("%s", ([, request, field, words]) => {
    const refusal = refusalOf(request);
    expect(refusal).toMatchObject({ code: "invalid_request", field });
    expect(refusal.message).toContain(words);
  });
});

describe("the size of a request", () => {
  test("2,048 inputs, and not one more", () => {
    const texts = Array.from({ length: MAX_INPUTS }, () => "a");
    expect(read({ input: texts }).textBytes).toHaveLength(MAX_INPUTS);
    expect(refusalOf({ input: [...texts, "a"] }).message).toBe(
      "`input` has 2049 inputs, and a request may have 2048. Send the others in further requests.",
    );
  });

  test("300,000 token ids, and not one more", () => {
    const ids = Array.from({ length: MAX_INPUT_TOKENS }, (_, id) => id);
    expect(read({ input: ids }).tokens).toEqual([MAX_INPUT_TOKENS]);
    expect(refusalOf({ input: [ids, [1]] }).message).toBe(
      "`input` has 300,001 token ids, and a request may have 300,000 tokens. Send fewer inputs in each request.",
    );
  });

  test("texts that certainly have more tokens", () => {
    expect(read({ input: ["a".repeat(2_400_000)] }).textBytes).toEqual([2_400_000]);
    expect(refusalOf({ input: ["a".repeat(2_400_000), "b"] }).message).toContain("has 2,400,001 bytes of text");
  });

  test("a body with too much structure is refused before it is parsed", () => {
    expect(refusalOf(`{"model":"m","input":[${"1,".repeat(400_000)}1]}`).message).toContain("more than 400000 JSON values");
  });
});
