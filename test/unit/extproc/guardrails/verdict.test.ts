import { expect, test } from "vitest";
import { readVerdict } from "../../../../extproc/guardrails/verdict.ts";

/** OpenAI's form, or no verdict (S55). */
const read = (answer: unknown, texts = 2) => readVerdict(Buffer.from(JSON.stringify(answer)), texts);

test("the first refused text, with the categories that were found", () => {
  const results = [{ flagged: false }, { flagged: true, categories: { violence: true, hate: false, "<b>": true } }];
  expect(read({ results })).toEqual({ kind: "refused", text: 1, categories: ["violence"] });
});

test("one verdict for all texts", () => {
  expect(read({ results: [{ flagged: true }] })).toEqual({ kind: "refused", text: null, categories: [] });
  expect(read({ results: [{ flagged: false }] })).toEqual({ kind: "allowed" });
});

test.for([{}, { results: [] }, { results: [{}] }, { results: [{ flagged: "false" }] }, null, "no"])(
  "anything else is no verdict: %j",
  (answer) => {
    expect(read(answer)).toEqual({ kind: "unreadable" });
  },
);

test("neither is an answer that lacks texts, or is no JSON", () => {
  expect(read({ results: [{ flagged: false }, { flagged: false }] }, 3)).toEqual({ kind: "unreadable" });
  expect(readVerdict(Buffer.from("<html>"), 1)).toEqual({ kind: "unreadable" });
});
