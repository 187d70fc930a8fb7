import { describe, expect, test } from "vitest";
import { sizeInput } from "../../../../extproc/meter/input-size.ts";
import { parseBody } from "../../../../extproc/protocol/json/parse-body.ts";

const PRICE = { inputPicoUsd: 50_000n, cachedInputPicoUsd: 50_000n, cacheWritePicoUsd: 50_000n, outputPicoUsd: 0n };

function sizeOf(query: string, documents: readonly string[], contextWindow: number | null = 8_192, further: object = {}) {
  const body = Buffer.from(JSON.stringify({ model: "m", query, documents, ...further }));
  const model = { contextWindow, price: PRICE };
  return sizeInput(parseBody(body, { headers: new Map(), interface: "rerank" }), { client: "rerank", model });
}

const QUERY = "q".repeat(30);
const DOCUMENT = "d".repeat(270);

describe("the hold of a request for a ranking (S30)", () => {
  test("is the query with each document, at three bytes per token, and what servers add to them", () => {
    expect(sizeOf(QUERY, [DOCUMENT]).hold).toMatchObject({ promptTokens: 200, fullNanoUsd: 10_000n, minNanoUsd: 10_000n });
    expect(sizeOf(QUERY, [DOCUMENT, DOCUMENT, ""]).hold.promptTokens).toBe(200 + 200 + 110);
  });

  test("is at most the model's context for each document", () => {
    expect(sizeOf(QUERY, ["d".repeat(100_000), DOCUMENT]).hold.promptTokens).toBe(8_192 + 200);
    expect(sizeOf(QUERY, ["d".repeat(300_000)], null).hold.promptTokens).toBe(100_110);
  });

  test("counts an instruction with each document, whatever its name", () => {
    const documents = [DOCUMENT, DOCUMENT];
    // A long string is not in the outline; its quotes are counted.
    expect(sizeOf(QUERY, documents, null, { instruction: "i".repeat(2_998) }).hold.promptTokens).toBe(2 * 1_200);
    expect(sizeOf(QUERY, documents, null, { task: ["i".repeat(26)] }).hold.promptTokens).toBe(2 * 210);
  });

  test("is refused with both numbers", () => {
    const { hold } = sizeOf(QUERY, [DOCUMENT]);
    expect(hold.describe(2_500n)).toBe("covers 50 input tokens, and this request may have 200");
    expect(hold).toMatchObject({ isOpen: false, remedy: "Send fewer or shorter documents" });
  });
});

test("memory is reserved for the documents, which many servers return (S40)", () => {
  expect(sizeOf(QUERY, [DOCUMENT, DOCUMENT]).answerBytes).toBe(2 * (270 + 128));
});

describe("its charge (S28, S38)", () => {
  const chargedFor = (reported: number | undefined, contextWindow: number | null = 8_192) => {
    const meter = sizeOf(QUERY, [DOCUMENT, DOCUMENT], contextWindow).meter(0);
    meter.report({ inputTokens: reported, outputTokens: 0 });
    const { usage, isEstimated } = meter.final();
    return { tokens: usage.inputTokens, isEstimated, anomalies: meter.anomalies() };
  };
  const OWN = 2 * 75;

  test.for<[string, number | undefined, object]>([
    ["what the server reports", 160, { tokens: 160, isEstimated: false, anomalies: [] }],
    ["our own count without a report", undefined, { tokens: OWN, isEstimated: true }],
    ["our own count for zero", 0, { tokens: OWN, isEstimated: true, anomalies: ["empty"] }],
    ["our own count for what is no count", Number.NaN, { tokens: OWN, isEstimated: true, anomalies: ["impossible"] }],
    ["a token for each byte, and an instruction", 2 * (300 + 512), { tokens: 1_624, isEstimated: false }],
    ["our own count for more than the texts can have", 2 * (300 + 512) + 1, { tokens: OWN, anomalies: ["impossible"] }],
  ])("is %s", ([, reported, charge]) => {
    expect(chargedFor(reported)).toMatchObject(charge);
    expect(chargedFor(reported, null)).toMatchObject(charge);
  });

  test("follows a server that reads a long instruction with each document", () => {
    const meter = sizeOf(QUERY, [DOCUMENT, DOCUMENT], null, { instruction: "i".repeat(3_998) }).meter(0);
    meter.report({ outputTokens: 0 });
    expect(meter.final()).toMatchObject({ usage: { inputTokens: 2 * 1_075 }, isEstimated: true });
    meter.report({ inputTokens: 2_400, outputTokens: 0 });
    expect(meter.final()).toMatchObject({ usage: { inputTokens: 2_400 }, isEstimated: false });
    expect(meter.anomalies()).toEqual([]);
  });

  test.for([8_192, null])("of the largest request is what the server reports (context %s)", (contextWindow) => {
    const meter = sizeOf(
      "q".repeat(8_000),
      Array.from({ length: 1_000 }, () => "d".repeat(8_000)),
      contextWindow,
    ).meter(0);
    meter.report({ inputTokens: 4_000_000, outputTokens: 0 });
    expect(meter.final()).toMatchObject({ usage: { inputTokens: 4_000_000 }, isEstimated: false });
  });

  test("is at most the model's context for each document", () => {
    expect(chargedFor(200, 100)).toMatchObject({ tokens: 200, isEstimated: false });
    expect(chargedFor(201, 100)).toMatchObject({ tokens: OWN, anomalies: ["impossible"] });
  });
});
