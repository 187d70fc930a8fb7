import { describe, expect, test } from "vitest";
import { sizeInput } from "../../../../extproc/meter/input-size.ts";
import { parseBody } from "../../../../extproc/protocol/json/parse-body.ts";

const PRICE = {
  inputPicoUsd: 20_000n,
  cachedInputPicoUsd: 20_000n,
  cacheWritePicoUsd: 20_000n,
  outputPicoUsd: 0n,
  unitPicoUsd: 0n,
};

function sizeOf(input: unknown, contextWindow: number | null = 8_192, fields: object = {}) {
  const body = Buffer.from(JSON.stringify({ model: "m", input, ...fields }));
  return sizeInput(parseBody(body, { headers: new Map(), interface: "embeddings" }), {
    client: "embeddings",
    model: { contextWindow, maxOutputTokens: 0, price: PRICE },
  });
}

describe("the hold of an embeddings request (S30)", () => {
  test("is its texts at three bytes per token, plus the tokens that servers add around each", () => {
    expect(sizeOf("a".repeat(300)).hold).toMatchObject({ promptTokens: 108, fullNanoUsd: 2_160n, minNanoUsd: 2_160n });
    expect(sizeOf(["a".repeat(300), "b"]).hold.promptTokens).toBe(108 + 9);
  });

  test("is its token ids, whose number is known", () => {
    expect(sizeOf([1, 2, 3]).hold.promptTokens).toBe(11);
    expect(sizeOf([[1, 2, 3], [4]]).hold.promptTokens).toBe(11 + 9);
  });

  test("is at most the model's context for each input", () => {
    expect(sizeOf("a".repeat(100_000)).hold.promptTokens).toBe(8_192);
    expect(sizeOf(["a".repeat(100_000), "b".repeat(100_000)]).hold.promptTokens).toBe(2 * 8_192);
    expect(sizeOf("a".repeat(300_000), null).hold.promptTokens).toBe(100_008);
  });

  test("has any instruction once for each input", () => {
    const instruction = "b".repeat(298);
    expect(sizeOf("a".repeat(300), 8_192, { instruction }).hold.promptTokens).toBe(208);
    expect(sizeOf(["a".repeat(300), "b"], 8_192, { instruction }).hold.promptTokens).toBe(208 + 109);
    expect(sizeOf([[1, 2, 3], [4]], 8_192, { instruction }).hold.promptTokens).toBe(111 + 109);
    expect(sizeOf("a".repeat(300), 150, { instruction }).hold.promptTokens).toBe(150);
    const others = { user: "u".repeat(300), metadata: { note: "m".repeat(300) }, encoding_format: "base64", dimensions: 256 };
    expect(sizeOf("a".repeat(300), 8_192, others).hold.promptTokens).toBe(108);
  });

  test("is refused if the instruction comes to more than a request may have", () => {
    const instruction = "b".repeat(1_200);
    expect(() =>
      sizeOf(
        Array.from({ length: 1_999 }, () => "a"),
        null,
        { instruction },
      ),
    ).toThrow(
      "`input` comes to 2,402,798 bytes of text with the request's further fields, which count once for each input, and a request may have 300,000 tokens. Send fewer inputs in each request.",
    );
  });

  test("is refused with both numbers", () => {
    const { hold } = sizeOf("a".repeat(300));
    expect(hold.describe(1_000n)).toBe("covers 50 input tokens, and this request may have 108");
    expect(hold).toMatchObject({ isOpen: false, remedy: "Send fewer or shorter inputs" });
    expect(hold.outputTokens(hold.fullNanoUsd)).toBe(0);
  });
});

describe("the memory reserved for its vectors (S40)", () => {
  const answerBytesOf = (fields: object) => {
    const body = Buffer.from(JSON.stringify({ model: "m", input: ["a", "b"], ...fields }));
    const model = { contextWindow: null, maxOutputTokens: 0, price: PRICE };
    return sizeInput(parseBody(body, { headers: new Map(), interface: "embeddings" }), { client: "embeddings", model })
      .answerBytes;
  };

  test("follows from inputs, dimensions and encoding", () => {
    expect(answerBytesOf({ dimensions: 1_000 })).toBe(26_000);
    expect(answerBytesOf({ dimensions: 1_000, encoding_format: "base64" })).toBe(10_800);
    expect(answerBytesOf({})).toBe(2 * 3_072 * 13);
  });

  test("is at most the maximum size of an answer", () => {
    expect(answerBytesOf({ input: Array.from({ length: 2_048 }, () => "a") })).toBe(32 * 1024 * 1024);
  });
});

describe("its charge", () => {
  const finalOf = (input: unknown, report: object) => {
    const meter = sizeOf(input).meter(0);
    meter.report(report);
    return meter.final();
  };

  test("is the server's count", () => {
    const { usage, isEstimated } = finalOf("hello", { inputTokens: 3, outputTokens: 0 });
    expect(usage).toMatchObject({ inputTokens: 3, outputTokens: 0 });
    expect(isEstimated).toBe(false);
  });

  test("is our own count, and flagged, if the server's cannot be true (S38)", () => {
    const text = "a".repeat(400);
    for (const report of [{}, { inputTokens: Number.NaN }, { inputTokens: 0 }, { inputTokens: 8_193 }])
      expect(finalOf(text, { ...report, outputTokens: 0 })).toMatchObject({ usage: { inputTokens: 100 }, isEstimated: true });
    expect(finalOf([1, 2, 3], { outputTokens: 0 })).toMatchObject({ usage: { inputTokens: 3 }, isEstimated: true });
  });
});
