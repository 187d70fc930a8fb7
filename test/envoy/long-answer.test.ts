import { afterAll, beforeAll, expect, test } from "vitest";
import { onlyRow } from "../support/settlement.ts";
import { startTestStack, type TestStack } from "../support/stack.ts";

/** Answers that take over a minute, while nothing else happens: what Envoy keeps for the processor must not age meanwhile. */
let stack: TestStack;
beforeAll(async () => {
  stack = await startTestStack();
});
afterAll(() => stack.stop());

async function ask(text: string, stream: boolean): Promise<{ status: number; text: string; requestId: string }> {
  const response = await fetch(`${stack.baseUrl}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${stack.apiKey}` },
    body: JSON.stringify({ model: "modelx-v4-flash", stream, messages: [{ role: "user", content: text }] }),
  });
  return { status: response.status, text: await response.text(), requestId: response.headers.get("x-request-id") ?? "" };
}

test("answers of over a minute on a quiet gateway end well, and Envoy lives on", { timeout: 150_000 }, async () => {
  const answers = await Promise.all([
    ask("Slowly. [[sim tokens=120 chunk-ms=500]]", true),
    ask("Late. [[sim delay-ms=65000]]", false),
  ]);
  expect(answers.map(({ status }) => status)).toEqual([200, 200]);
  expect(answers[0]?.text).toMatch(/data: \[DONE\]\n\n$/);
  for (const { requestId } of answers) expect((await onlyRow(stack, requestId)).outcome).toBe("complete");
  expect((await ask("Hello.", false)).status).toBe(200);
  expect(stack.complaints).toEqual([]);
});
