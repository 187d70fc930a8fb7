import { afterAll, beforeAll, expect, test } from "vitest";
import { askLong } from "../../support/wire/long-prompts.ts";
import type { TestProduct } from "../../support/stacks/product.ts";
import { borrowStack } from "../../support/shared-stacks/borrow.ts";

let stack: TestProduct;
beforeAll(async () => {
  stack = await borrowStack({ creditNanoUsd: 1_000_000_000_000_000n });
});
afterAll(() => stack.stop());

const STREAMS = 8;
const TOKENS = 20;
/** Of the Model: the prompt has more tokens, and a model server that answers has read no more. */
const CONTEXT_WINDOW = 200_000;

/** What they hold in memory is for `npm run bench:memory`: a test would measure the machine. */
test("eight concurrent prompts of 4 MiB are answered completely, and each is charged for a whole context window", async () => {
  const answers = await Promise.all(
    Array.from({ length: STREAMS }, async () => {
      const response = await askLong(stack, { tokens: TOKENS });
      const text = await response.text();
      return {
        status: response.status,
        isWhole: text.endsWith("data: [DONE]\n\n"),
        requestId: response.headers.get("x-request-id"),
      };
    }),
  );
  expect(answers.filter(({ status, isWhole }) => status === 200 && isWhole)).toHaveLength(STREAMS);
  for (const { requestId } of answers) {
    const [row, ...further] = await stack.usageOf(requestId ?? "");
    expect(further).toEqual([]);
    expect(row).toMatchObject({ outcome: "complete", usage: { inputTokens: CONTEXT_WINDOW, outputTokens: TOKENS } });
  }
});

test.each([true, false])("a prompt that translation doubles in length arrives, streamed: %s", async (stream) => {
  const messages = Array.from({ length: 8_001 }, (_, index) => ({ role: index % 2 === 0 ? "user" : "assistant", content: "x" }));
  const body = JSON.stringify({ model: "modelx-v4-flash", stream, max_tokens: 5, messages });
  expect(body.length).toBeGreaterThan(256_000);
  const response = await fetch(`${stack.baseUrl}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${stack.apiKey}` },
    body,
  });
  expect(await response.text()).not.toContain("error");
  expect(response.status).toBe(200);
});
