import { describe, expect, test } from "vitest";
import { sizeInput } from "../../../../extproc/meter/input-size.ts";
import { chargeNanoUsd, type Price } from "../../../../ledger/money.ts";
import { parseBody } from "../../../../extproc/protocol/json/parse-body.ts";

const PRICE = {
  inputPicoUsd: 50_000n,
  cachedInputPicoUsd: 50_000n,
  cacheWritePicoUsd: 50_000n,
  outputPicoUsd: 0n,
  unitPicoUsd: 0n,
};

function sizeOf(
  query: string,
  documents: readonly string[],
  contextWindow: number | null = 8_192,
  further: object = {},
  price: Price = PRICE,
) {
  const body = Buffer.from(JSON.stringify({ model: "m", query, documents, ...further }));
  const model = { contextWindow, maxOutputTokens: 0, price };
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

describe("searches (S28, S30, S38)", () => {
  const SEARCH_PICO_USD = 2_000_000_000n;
  const BY_SEARCH: Price = {
    inputPicoUsd: 0n,
    cachedInputPicoUsd: 0n,
    cacheWritePicoUsd: 0n,
    outputPicoUsd: 0n,
    unitPicoUsd: SEARCH_PICO_USD,
  };
  const documentsOf = (count: number, bytes: number) => Array.from({ length: count }, () => "d".repeat(bytes));
  const asking = (documents: readonly string[], price = BY_SEARCH, contextWindow: number | null = 8_192) =>
    sizeOf(QUERY, documents, contextWindow, {}, price);
  const countOf = (documents: readonly string[], contextWindow: number | null = 8_192) =>
    asking(documents, BY_SEARCH, contextWindow).meter(0).final().usage.units;

  test.for([
    ["a query with one document", 1, 270, 1],
    ["a query with a hundred documents", 100, 270, 1],
    ["one document more", 101, 270, 2],
    ["a thousand documents", 1_000, 1, 10],
    ["documents of 500 tokens with the query", 100, 1_970, 1],
    ["documents of one token more, in two parts", 100, 1_974, 2],
    ["documents of three parts", 100, 5_900, 3],
  ] as const)("%s: %s of %s bytes are %s", ([, count, bytes, searches]) => {
    expect(countOf(documentsOf(count, bytes))).toBe(searches);
  });

  test("a document counts no further than the model reads", () => {
    expect(countOf(documentsOf(100, 100_000), 1_000)).toBe(2);
    expect(countOf(documentsOf(1, 1_000_000), null)).toBe(6);
  });

  test("are held at three bytes per token, and refused with both numbers", () => {
    const { hold } = asking(documentsOf(101, 270));
    expect(hold).toMatchObject({ fullNanoUsd: 4_000_000n, minNanoUsd: 4_000_000n });
    expect(hold.describe(2_500_000n)).toBe("covers 1 search, and this request may have 2");
    expect(asking(documentsOf(100, 1_800)).hold.fullNanoUsd).toBe(4_000_000n);
  });

  test("are held and charged with the tokens of a Model that has both prices, rounded once", () => {
    const both = { ...PRICE, unitPicoUsd: SEARCH_PICO_USD + 400n };
    const { hold, meter } = asking([DOCUMENT], both);
    expect(hold.fullNanoUsd).toBe(2_010_000n);
    expect(hold.describe(1n)).toBe("does not cover the 1 search and 200 input tokens that this request may have");
    const counted = meter(0);
    counted.report({ inputTokens: 80, outputTokens: 0, units: 1 });
    const { usage, isEstimated } = counted.final();
    expect(isEstimated).toBe(false);
    expect(chargeNanoUsd(usage, both)).toBe(2_004_000n);
    expect(chargeNanoUsd({ ...usage, units: 2 }, both)).toBe(4_004_001n);
  });

  const reported = (units: number | undefined, inputTokens?: number, price = BY_SEARCH) => {
    const meter = asking(documentsOf(100, 270), price).meter(0);
    meter.report({ inputTokens, outputTokens: 0, units });
    const { usage, isEstimated } = meter.final();
    return { units: usage.units, isEstimated, anomalies: meter.anomalies() };
  };
  /** A token for each of 300 bytes, in parts of 250. */
  const MOST = 2;

  test.for<[string, number | undefined, object]>([
    ["what the server reports", 1, { units: 1, isEstimated: false, anomalies: [] }],
    ["the most that the texts can have", MOST, { units: MOST, isEstimated: false, anomalies: [] }],
    ["our own count for more", MOST + 1, { units: 1, isEstimated: true, anomalies: ["impossible"] }],
    ["our own count for a billion", 1e9, { units: 1, isEstimated: true, anomalies: ["impossible"] }],
    ["our own count for a negative number", -1, { units: 1, isEstimated: true, anomalies: ["impossible"] }],
    ["our own count for half a search", 0.5, { units: 1, isEstimated: true, anomalies: ["impossible"] }],
    ["our own count for what is no number", Number.NaN, { units: 1, isEstimated: true, anomalies: ["impossible"] }],
    ["our own count for none", 0, { units: 1, isEstimated: true, anomalies: ["empty"] }],
    ["our own count without a report", undefined, { units: 1, isEstimated: true, anomalies: [] }],
  ])("are %s", ([, units, charge]) => {
    expect(reported(units)).toEqual(charge);
  });

  test("need no report of tokens if tokens are free", () => {
    expect(reported(1, 0)).toMatchObject({ isEstimated: false, anomalies: [] });
    expect(reported(1, 7_500)).toMatchObject({ isEstimated: false, anomalies: [] });
  });

  test("that have no price are counted if the server reports them, for the operator's cost", () => {
    expect(reported(1, 7_500, PRICE)).toEqual({ units: 1, isEstimated: false, anomalies: [] });
    expect(reported(0, 7_500, PRICE)).toEqual({ units: undefined, isEstimated: false, anomalies: [] });
    expect(reported(undefined, 7_500, PRICE)).toEqual({ units: undefined, isEstimated: false, anomalies: [] });
    expect(reported(1e9, 7_500, PRICE)).toEqual({ units: undefined, isEstimated: false, anomalies: ["impossible"] });
  });
});
