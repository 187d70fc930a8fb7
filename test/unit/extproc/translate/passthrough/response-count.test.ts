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

/** What is counted of these events. */
function countOf(events: readonly object[]): number {
  const { body } = inputFor({ model: "m", input: "hi" }, { upstream: "responses" });
  const meter = createMeter(10);
  const count = createResponseCount(body)(meter);
  for (const event of events) count.event({ ...event }, JSON.stringify(event));
  return meter.outputBytes();
}

const TEXT = "word ".repeat(2_000);
const delta = { type: "response.output_text.delta", output_index: 0, content_index: 0, delta: TEXT };
const failed = (text: string) => ({
  type: "response.failed",
  response: {
    id: "resp_1",
    error: { code: "server_error", message: "reason ".repeat(2_000) },
    output: [{ type: "message", content: [{ type: "output_text", text }] }],
  },
});

test.for([
  ["a delta with an error", [{ ...delta, error: {} }]],
  ["the output of a response that failed", [failed(TEXT)]],
  ["a delta before a response that failed with the same output", [delta, failed(TEXT)]],
] as const)("the text of %s is counted once, and the reason of a failure not at all (S38)", ([, events]) => {
  expect(countOf(events)).toBe(TEXT.length);
});
