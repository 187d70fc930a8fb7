import { afterAll, beforeAll, expect, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import { scrape } from "../support/metrics.ts";
import { startTestStack, type TestStack } from "../support/stack.ts";

let stack: TestStack;
beforeAll(async () => {
  stack = await startTestStack({ creditNanoUsd: 1_000_000_000_000_000n });
});
afterAll(() => stack.stop());

const MEBIBYTE = 1024 * 1024;
const STREAMS = 40;
const PROMPT = "word ".repeat((4 * MEBIBYTE) / 5);

test("an answer that streams holds nothing of its prompt", async () => {
  const streams = await Promise.all(Array.from({ length: STREAMS }, ask));
  await eventually(async () => {
    const metrics = await scrape(stack.extprocAdminUrl);
    expect(metrics.get("gateway_open_streams")).toBe(STREAMS);
    // As received and as it went on, they were 320 MiB.
    expect((metrics.get("nodejs_external_memory_bytes") ?? Infinity) / MEBIBYTE).toBeLessThan(160);
  });
  for (const response of streams) await response.body?.cancel();
});

async function ask(): Promise<Response> {
  const response = await fetch(`${stack.baseUrl}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${stack.apiKey}` },
    body: JSON.stringify({
      model: "modelx-v4-flash",
      stream: true,
      max_tokens: 400,
      messages: [{ role: "user", content: `${PROMPT}[[sim tokens=300 chunk-ms=100]]` }],
    }),
  });
  expect(response.status).toBe(200);
  return response;
}
