import { expect, test } from "vitest";
import { sizeHold, type HoldSizeInput } from "../../../../extproc/credit/hold-size.ts";

const PRICE = {
  inputPicoUsd: 300_000n,
  cachedInputPicoUsd: 30_000n,
  cacheWritePicoUsd: 300_000n,
  outputPicoUsd: 1_200_000n,
  unitPicoUsd: 0n,
};
const ask = { limit: 2_000, answers: 1, wantsStream: false };
const model = { contextWindow: 131_072, maxOutputTokens: 8_192, price: PRICE };
const input: HoldSizeInput = { promptTokens: 1_000, likelyPromptTokens: 750, ask, model };
const asking = (changed: Partial<typeof ask> | { limit: null }) => sizeHold({ ...input, ask: { ...ask, ...changed } });

const PROMPT = 300_000n;
const TOKEN = 1_200n;

test("a hold covers the prompt and every token that may follow", () => {
  expect(sizeHold(input)).toMatchObject({ promptTokens: 1_000, fullNanoUsd: PROMPT + 2_000n * TOKEN });
});

test("without a limit, or with one above the model's, the model's own limit applies", () => {
  const most = PROMPT + 8_192n * TOKEN;
  expect(asking({ limit: null })).toMatchObject({ fullNanoUsd: most, isOpen: true });
  expect(asking({ limit: 1_000_000 })).toMatchObject({ fullNanoUsd: most, isOpen: false });
});

test("a request may start on its prompt and 1,024 tokens, or on its own lower limit (S37)", () => {
  expect(asking({}).minNanoUsd).toBe(PROMPT + 1_024n * TOKEN);
  expect(asking({ limit: 10 }).minNanoUsd).toBe(PROMPT + 10n * TOKEN);
});

test("the limit that is sent is covered by the hold (S30)", () => {
  const size = asking({ limit: null });
  expect(size.outputTokens(size.fullNanoUsd)).toBe(8_192);
  expect(size.outputTokens(size.minNanoUsd)).toBe(1_024);
  expect(size.outputTokens(PROMPT + 5_000n * TOKEN + TOKEN - 1n)).toBe(5_000);
  expect(size.outputTokens(size.fullNanoUsd * 2n)).toBe(8_192);
});

test("tokens that cost a fraction of a nano-dollar are sent in full", () => {
  const price = { ...PRICE, outputPicoUsd: 100n };
  const size = sizeHold({ ...input, model: { ...model, price } });
  expect(size.outputTokens(size.fullNanoUsd)).toBe(2_000);
  const free = sizeHold({ ...input, model: { ...model, price: { ...PRICE, outputPicoUsd: 0n } } });
  expect(free.outputTokens(free.minNanoUsd)).toBe(2_000);
});

test("a hold of a request with the account's own key is the most that its fee can be, and covers the limit that is sent (S59)", () => {
  const fee = { requestPicoUsd: 5_000_000n, millionths: 100_000n };
  const size = sizeHold({ ...input, ask: { ...ask, limit: 2_000 }, model: { ...model, price: { ...PRICE, fee } } });
  expect(size.fullNanoUsd).toBe(5_000n + (PROMPT + 2_000n * TOKEN) / 10n);
  expect(size.outputTokens(size.fullNanoUsd)).toBe(2_000);
  expect(size.outputTokens(5_000n + (PROMPT + 1_500n * TOKEN) / 10n)).toBe(1_500);
  expect(size.describe(4_000n)).toContain("covers 0 output tokens");
  const flat = sizeHold({ ...input, model: { ...model, price: { ...PRICE, fee: { ...fee, millionths: 0n } } } });
  expect([flat.fullNanoUsd, flat.minNanoUsd, flat.outputTokens(5_000n)]).toEqual([5_000n, 5_000n, 2_000]);
  expect(flat.describe(4_999n)).toContain("covers 0 output tokens");
});

test("if the client set none, the limit leaves room for the prompt in the context window", () => {
  const size = (likelyPromptTokens: number) => {
    const open = sizeHold({ promptTokens: 1_000, likelyPromptTokens, ask: { ...ask, limit: null }, model });
    return open.outputTokens(open.fullNanoUsd);
  };
  expect(size(130_000)).toBe(1_072);
  expect(size(131_000)).toBe(1_024);
});

test("if cache writes cost more than reads, the prompt is held at that price", () => {
  const price = { ...PRICE, cacheWritePicoUsd: 375_000n };
  expect(sizeHold({ ...input, ask: { ...ask, limit: 0 }, model: { ...model, price } }).fullNanoUsd).toBe(375_000n);
});

test("several answers to one prompt are each held, the prompt once", () => {
  const size = asking({ answers: 10, limit: 100 });
  expect(size.fullNanoUsd).toBe(PROMPT + 10n * 100n * TOKEN);
  expect(size.outputTokens(size.fullNanoUsd)).toBe(100);
});

test("a refusal states what the credit covers and what is required (S37)", () => {
  expect(asking({ limit: null }).describe(PROMPT + 410n * TOKEN)).toBe(
    "covers 410 output tokens after the prompt, and this request needs 1,024",
  );
  expect(asking({ limit: 500, answers: 2 }).describe(0n)).toBe(
    "covers 0 output tokens for each of 2 answers after the prompt, and this request needs 500",
  );
});
