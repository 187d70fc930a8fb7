import { afterAll, beforeAll, expect, test } from "vitest";
import { checkLedger } from "../../../ledger/upkeep/check.ts";
import { startDataPlane, type DataPlane } from "../../support/stacks/data-plane.ts";
import { eventually } from "../../support/eventually.ts";
import type { TestProduct } from "../../support/stacks/product.ts";
import { borrowStack } from "../../support/shared-stacks/borrow.ts";

/** extproc dies while requests for rankings run, and before their charges have reached the database (S28, S46). */
let stack: TestProduct;
let plane: DataPlane;
beforeAll(async () => {
  stack = await borrowStack();
  plane = await startDataPlane(stack);
});
afterAll(async () => {
  await plane.stop();
  await stack.stop();
});

async function rank(query: string, apiKey: string): Promise<Response> {
  return await fetch(`${plane.baseUrl}/v2/rerank`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${apiKey}` },
    body: JSON.stringify({ model: "modelx-rerank", query, documents: ["Cats eat meat.", "Cars need fuel."] }),
  });
}

test("killed right after its answers: each is charged once, what its header says", async () => {
  const { apiKey, accountId } = await stack.createAccount({ name: "answered", creditNanoUsd: 1_000_000_000n });
  await eventually(async () => expect((await rank("Known?", apiKey)).status).toBe(200));
  await stack.idle();
  const before = await eventually(async () => {
    const balance = await stack.balanceNanoUsd(accountId);
    expect(balance).toBeLessThan(1_000_000_000n);
    return balance;
  });
  const answers = await Promise.all(Array.from({ length: 20 }, (_, number) => rank(`Question ${number}?`, apiKey)));
  await plane.endExtproc("SIGKILL");
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
  await plane.startExtproc();

  let sum = 0n;
  for (const { headers } of answers) {
    const requestId = headers.get("x-request-id") ?? "";
    const [row] = await stack.usageOf(requestId);
    expect(row).toMatchObject({ outcome: "complete", isEstimated: false, usage: { units: 1 }, chargeNanoUsd: 2_000_000n });
    expect(headers.get("x-gateway-cost")).toBe(`0.${String(row?.chargeNanoUsd).padStart(9, "0")}`);
    expect(await stack.entriesOf(requestId)).toEqual([-(row?.chargeNanoUsd ?? 0n)]);
    sum += row?.chargeNanoUsd ?? 0n;
  }
  await eventually(async () => expect(await stack.balanceNanoUsd(accountId)).toBe(before - sum));
  expect(await checkLedger(stack.database)).toEqual([]);
});

test("killed before the model server has answered: nothing is charged, and the hold is released", async () => {
  const { apiKey, accountId } = await stack.createAccount({ name: "unanswered", creditNanoUsd: 3_000_000n });
  const waiting = rank("[[sim delay-ms=20000]] When?", apiKey).then(
    ({ status }) => status,
    () => "broken",
  );
  await eventually(async () => expect(await heldOf(apiKey)).not.toBe("0.000000000"));
  await plane.endExtproc("SIGKILL");
  expect([502, 503, "broken"]).toContain(await waiting);
  await plane.startExtproc();
  await eventually(async () => expect(await heldOf(apiKey)).toBe("0.000000000"), { withinMs: 30_000 });
  expect(await stack.balanceNanoUsd(accountId)).toBe(3_000_000n);
});

async function heldOf(apiKey: string): Promise<unknown> {
  const response = await fetch(`${plane.baseUrl}/v1/balance`, { headers: { authorization: `Bearer ${apiKey}` } });
  return Object(await response.json()).held;
}
