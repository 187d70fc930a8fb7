import { expect, test } from "vitest";
import { countAnswers, sizeHold, type HoldSizeInput } from "../../../extproc/meter/hold-size.ts";

const PRICE = { inputPicoUsd: 300_000n, cachedInputPicoUsd: 30_000n, cacheWritePicoUsd: 300_000n, outputPicoUsd: 1_200_000n };
const input: HoldSizeInput = {
  promptBytes: 3_000,
  maxOutputTokens: 1_000,
  answers: 1,
  isStream: false,
  model: { contextWindow: 131_072, maxOutputTokens: 8_192, price: PRICE },
};

test("a hold is the prompt at three bytes a token and every token that may come", () => {
  expect(sizeHold(input)).toEqual({ promptTokens: 1_000, fullNanoUsd: 1_500_000n, leastNanoUsd: 1_500_000n });
});

test("without a limit, or with one above the model's, the model's own limit counts", () => {
  const most = 300_000n + 8_192n * 1_200n;
  expect(sizeHold({ ...input, maxOutputTokens: null }).fullNanoUsd).toBe(most);
  expect(sizeHold({ ...input, maxOutputTokens: 1_000_000 }).fullNanoUsd).toBe(most);
});

test("a stream may begin on its prompt and a first stretch", () => {
  expect(sizeHold({ ...input, isStream: true }).leastNanoUsd).toBe(300_000n + 256n * 1_200n);
  expect(sizeHold({ ...input, isStream: true, maxOutputTokens: 10 }).leastNanoUsd).toBe(300_000n + 10n * 1_200n);
});

test("a prompt is never held for more than the model can read", () => {
  expect(sizeHold({ ...input, promptBytes: 30_000_000, maxOutputTokens: 0 }).fullNanoUsd).toBe(131_072n * 300n);
});

test("where writing a cache costs more than reading, the prompt is held at that price", () => {
  const price = { ...PRICE, cacheWritePicoUsd: 375_000n };
  expect(sizeHold({ ...input, maxOutputTokens: 0, model: { ...input.model, price } }).fullNanoUsd).toBe(375_000n);
});

test("several answers to one prompt are held for each", () => {
  expect(sizeHold({ ...input, answers: 3 }).fullNanoUsd).toBe(300_000n + 3n * 1_200_000n);
});

test.for([
  [{}, 1],
  [{ n: 4 }, 4],
  [{ n: 0 }, 1],
  [{ n: 1e9 }, 128],
  [{ n: "4" }, 1],
  [{ n: 1.5 }, 1],
] as const)("%j asks for %i answers", ([request, answers]) => {
  expect(countAnswers(request)).toBe(answers);
});
