import { expect, test } from "vitest";
import { createTranslation } from "../../../../extproc/translate/choose.ts";
import { inputFor } from "./input.ts";

test.for([
  [{ max_tokens: 10, max_completion_tokens: 200 }, "max_tokens"],
  [{ max_tokens: 200, max_completion_tokens: 10 }, "max_completion_tokens"],
  [{ max_tokens: null, max_completion_tokens: 10 }, "max_completion_tokens"],
  [{ max_tokens: 10 }, "max_tokens"],
] as const)("of two limits, %j, the error about a low one names %s", ([limits, field]) => {
  const request = { model: "m", messages: [{ role: "user", content: "hi" }], ...limits };
  const input = inputFor(request, { upstream: "responses", flags: { minOutputTokens: 16 } });
  expect(() => createTranslation("chat", input)).toThrow(expect.objectContaining({ field }));
});
