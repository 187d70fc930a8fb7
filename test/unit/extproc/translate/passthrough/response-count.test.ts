import { expect, test } from "vitest";
import { createMeter } from "../../../../../extproc/meter/meter.ts";
import { createResponseCount } from "../../../../../extproc/translate/passthrough/response-count.ts";
import { inputFor } from "../input.ts";

test("a response that repeats a list longer than the stack is counted (S38)", () => {
  const { body } = inputFor({ model: "m", input: "hi" }, { upstream: "responses" });
  const meter = createMeter(10);
  const response = {
    id: "resp_1",
    object: "response",
    output: [{ type: "message", content: [{ type: "output_text", text: "four" }] }],
    metadata: Array.from({ length: 200_000 }, (_, at) => `w${at}`),
  };
  createResponseCount(body)(meter).whole(response, JSON.stringify(response));
  expect(meter.outputBytes()).toBeGreaterThan(4);
});
