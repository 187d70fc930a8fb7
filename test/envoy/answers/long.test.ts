import { afterAll, beforeAll, expect, test } from "vitest";
import { makeOneAndSeveral } from "../../support/stacks/backend-manifests.ts";
import { startFailingUpstream, type FailingUpstream } from "../../support/servers/failing-upstream.ts";
import { onlyRow } from "../../support/billing/settlement.ts";
import type { TestProduct } from "../../support/stacks/product.ts";
import { borrowStack } from "../../support/shared-stacks/borrow.ts";

/** Answers that take over a minute, while nothing else happens: what Envoy keeps for the processor must not age meanwhile. */
let stack: TestProduct;
let upstream: FailingUpstream;
let removeManifests: () => Promise<void>;
beforeAll(async () => {
  upstream = await startFailingUpstream();
  const { directory, remove } = await makeOneAndSeveral(upstream);
  removeManifests = remove;
  stack = await borrowStack({ manifestsDirectory: directory });
});
afterAll(async () => {
  await stack.stop();
  await upstream.stop();
  await removeManifests();
});

async function ask(model: string, text: string, stream: boolean) {
  const response = await fetch(`${stack.baseUrl}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${stack.apiKey}` },
    body: JSON.stringify({ model, stream, max_tokens: 256, messages: [{ role: "user", content: text }] }),
  });
  return { status: response.status, text: await response.text(), requestId: response.headers.get("x-request-id") ?? "" };
}

test("answers of over a minute on a quiet gateway complete, and Envoy survives", { timeout: 150_000 }, async () => {
  const models = ["one-server", "several-servers"];
  const [streamed, whole] = await Promise.all([
    Promise.all(models.map((model) => ask(model, "Slowly. [[sim tokens=120 chunk-ms=500]]", true))),
    Promise.all(models.map((model) => ask(model, "Late. [[sim delay-ms=65000]]", false))),
  ]);
  for (const { text } of streamed) expect(text).toMatch(/data: \[DONE\]\n\n$/);
  for (const { status, requestId } of [...streamed, ...whole]) {
    expect(status).toBe(200);
    expect((await onlyRow(stack, requestId)).outcome).toBe("complete");
  }
  for (const model of models) expect((await ask(model, "Hello.", false)).status).toBe(200);
  // A failed attempt is logged.
  expect(stack.complaints.filter((line) => !line.includes("trying the next one"))).toEqual([]);
});
