import { afterAll, beforeAll, expect, test } from "vitest";
import { checkLedger } from "../../../ledger/upkeep/check.ts";
import { startDataPlane, type DataPlane } from "../../support/stacks/data-plane.ts";
import { eventually } from "../../support/eventually.ts";
import type { TestProduct } from "../../support/stacks/product.ts";
import { onlyRow } from "../../support/billing/settlement.ts";
import { borrowStack } from "../../support/shared-stacks/borrow.ts";

/** A process of the gateway dies while speech is on its way, and before its charge has reached the database (S28, S52). */
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

async function speak(input: string, apiKey: string, { baseUrl } = plane): Promise<Response> {
  return await fetch(`${baseUrl}/v1/audio/speech`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${apiKey}` },
    body: JSON.stringify({ model: "modelx-speech", voice: "alloy", input }),
  });
}

test("killed right after its answers: each is charged once, what its header says", async () => {
  const { apiKey, accountId } = await stack.createAccount({ name: "spoken", creditNanoUsd: 1_000_000_000n });
  await eventually(async () => expect((await speak("Ready?", apiKey)).status).toBe(200));
  await stack.idle();
  const before = await eventually(async () => {
    const balance = await stack.balanceNanoUsd(accountId);
    expect(balance).toBeLessThan(1_000_000_000n);
    return balance;
  });
  const answers = await Promise.all(
    Array.from({ length: 20 }, async (_, number) => {
      const input = "Good morning".padEnd(20 + number, "!");
      const response = await speak(input, apiKey);
      await response.arrayBuffer();
      return { status: response.status, headers: response.headers, nanoUsd: BigInt(input.length) * 15_000n };
    }),
  );
  await plane.endExtproc("SIGKILL");
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
  await plane.startExtproc();

  let sum = 0n;
  for (const { headers, nanoUsd } of answers) {
    const requestId = headers.get("x-request-id") ?? "";
    const [row] = await stack.usageOf(requestId);
    expect(row).toMatchObject({ outcome: "complete", isEstimated: false, chargeNanoUsd: nanoUsd });
    expect(headers.get("x-gateway-cost")).toBe(`0.${String(nanoUsd).padStart(9, "0")}`);
    expect(await stack.entriesOf(requestId)).toEqual([-nanoUsd]);
    sum += nanoUsd;
  }
  await eventually(async () => expect(await stack.balanceNanoUsd(accountId)).toBe(before - sum));
  expect(await checkLedger(stack.database)).toEqual([]);
});

test("killed in the middle of an answer: it is cut off, nothing is charged, and the hold is released", async () => {
  const { apiKey, accountId } = await stack.createAccount({ name: "unspoken", creditNanoUsd: 3_000_000n });
  // Envoy may not have seen yet that extproc is back.
  const response = await eventually(async () => {
    const begun = await speak("[[sim chunk-ms=200]] A long text that is spoken slowly, and not to its end", apiKey);
    expect(begun.status).toBe(200);
    return begun;
  });
  const reader = response.body?.getReader();
  expect((await reader?.read())?.value?.length).toBeGreaterThan(0);
  const rest = async () => {
    while ((await reader?.read())?.done === false);
    return "whole";
  };
  const end = rest().catch(String);
  await plane.endExtproc("SIGKILL");
  expect(await end).toMatch(/terminated/);
  await plane.startExtproc();
  await eventually(async () => expect(await heldOf(apiKey)).toBe("0.000000000"), { withinMs: 30_000 });
  expect(await stack.usageOf(response.headers.get("x-request-id") ?? "")).toMatchObject([{ outcome: "lost", chargeNanoUsd: 0n }]);
  expect(await stack.balanceNanoUsd(accountId)).toBe(3_000_000n);
});

test.for(["SIGKILL", "SIGTERM"] as const)(
  "Envoy ends in the middle of an answer, by %s: nothing is charged, because the client has not left it",
  async (signal) => {
    const { apiKey, accountId } = await stack.createAccount({ name: signal.toLowerCase(), creditNanoUsd: 3_000_000n });
    const own = await startDataPlane(stack);
    try {
      const input = "[[sim chunk-ms=200]] A long text that is spoken slowly, and not to its end";
      const response = await eventually(async () => {
        const begun = await speak(input, apiKey, own);
        expect(begun.status).toBe(200);
        return begun;
      });
      const reader = response.body?.getReader();
      expect((await reader?.read())?.value?.length).toBeGreaterThan(0);
      await own.endEnvoy(signal);
      await expect(reader?.closed).rejects.toThrow("terminated");
      const row = await onlyRow(stack, response.headers.get("x-request-id") ?? "");
      expect(row).toMatchObject({ outcome: "lost", chargeNanoUsd: 0n });
    } finally {
      await own.stop();
    }
    expect(await stack.balanceNanoUsd(accountId)).toBe(3_000_000n);
    expect(await checkLedger(stack.database)).toEqual([]);
  },
);

async function heldOf(apiKey: string): Promise<unknown> {
  const response = await fetch(`${plane.baseUrl}/v1/balance`, { headers: { authorization: `Bearer ${apiKey}` } });
  return Object(await response.json()).held;
}
