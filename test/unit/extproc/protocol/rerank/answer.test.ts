import { expect, test } from "vitest";
import { readRerankAnswer } from "../../../../../extproc/protocol/rerank/answer.ts";
import { READER } from "../../error-reader.ts";

const tokensOf = (reported: object) =>
  readRerankAnswer(Buffer.from(JSON.stringify({ results: [], ...reported })), 1, READER).inputTokens;

test.for<[string, object, number | undefined]>([
  ["the total", { usage: { total_tokens: 9, prompt_tokens: 8 }, meta: { tokens: { input_tokens: 7 } } }, 9],
  ["what was billed before what was read", { meta: { billed_units: { input_tokens: 8 }, tokens: { input_tokens: 7 } } }, 8],
  ["a number after zero", { usage: { total_tokens: 0, prompt_tokens: 8 } }, 8],
  ["a number after a negative one", { usage: { total_tokens: -1, prompt_tokens: 8 } }, 8],
  ["a number after a string", { usage: { total_tokens: "9" }, meta: { billed_units: { total_tokens: 8 } } }, 8],
  ["zero if there is nothing else", { usage: { total_tokens: 0 } }, 0],
  ["NaN for what is no count", { usage: { total_tokens: "9" } }, Number.NaN],
  ["nothing for searches", { meta: { billed_units: { search_units: 1 } } }, undefined],
  ["nothing without usage", { usage: null, meta: [] }, undefined],
])("an answer reports %s (S28)", ([, reported, tokens]) => {
  expect(tokensOf(reported)).toBe(tokens);
});
