import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { checkLedger } from "../../ledger/upkeep/check.ts";
import { startPostgres, type Postgres } from "../../local/postgres.ts";
import { eventually } from "../support/eventually.ts";
import { startTestStack, type TestStack } from "../support/stack.ts";

/** PostgreSQL goes away for a minute under load, and comes back (docs/architecture.md). */
const AWAY_MS = 60_000;
const WORKERS = 4;
const PAUSE_MS = 100;

let stack: TestStack;
let restarted: Postgres | undefined;
beforeAll(async () => {
  stack = await startTestStack({ creditNanoUsd: 1_000_000_000_000n, restartsParts: false });
});
afterAll(async () => {
  await restarted?.stop();
  await stack.stop();
});

async function ask(apiKey: string): Promise<{ status: number; code: unknown; retryAfter: string | null }> {
  const response = await fetch(`${stack.baseUrl}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${apiKey}` },
    body: JSON.stringify({ model: "modelx-v4-flash", max_tokens: 64, messages: [{ role: "user", content: "Hello." }] }),
  });
  const body: unknown = await response.json();
  return {
    status: response.status,
    code: Reflect.get(Object(Reflect.get(Object(body), "error")), "code"),
    retryAfter: response.headers.get("retry-after"),
  };
}

async function stopDatabase(): Promise<void> {
  const pid = stack.pids["postgres"];
  if (pid === undefined) throw new Error("the stack has no Postgres");
  process.kill(pid, "SIGINT");
  await stack.failed;
}

test(
  "accounts with leases are served, others get 503 with retry-after, and nothing is lost afterwards",
  { timeout: 240_000 },
  async () => {
    const cold = await stack.createAccount({ name: "cold", creditNanoUsd: 1_000_000_000n });
    expect((await ask(stack.apiKey)).status).toBe(200);
    await stack.idle();
    await stopDatabase();
    const endsAt = performance.now() + AWAY_MS;

    const statuses: number[] = [];
    const load = Array.from({ length: WORKERS }, async () => {
      while (performance.now() < endsAt) {
        statuses.push((await ask(stack.apiKey)).status);
        await sleep(PAUSE_MS);
      }
    });
    // The key is known, but no credit was leased for its account: the gateway cannot know its balance.
    const refused = await ask(cold.apiKey);
    expect(refused).toEqual({ status: 503, code: "billing_unavailable", retryAfter: expect.stringMatching(/^\d+$/) });
    // A key that is not known may have been made a moment ago.
    await sleep(15_000);
    expect(await ask(`sk-mg-000000000000${"0".repeat(43)}`)).toMatchObject({ status: 503, code: "billing_unavailable" });
    await Promise.all(load);
    expect(statuses.length).toBeGreaterThan(WORKERS * 10);
    expect(new Set(statuses)).toEqual(new Set([200]));

    restarted = await startPostgres({ dataDirectory: stack.directory.postgres, port: Number(new URL(stack.databaseUrl).port) });
    await eventually(async () => expect((await ask(cold.apiKey)).status).toBe(200), { withinMs: 20_000 });
    await eventually(async () => void (await stack.idle()), { withinMs: 30_000 });
    expect(await stack.countUsage()).toBe(statuses.length + 2);
    expect(await stack.sumOfEntries()).toBe(await stack.balanceNanoUsd());
    expect(await checkLedger(stack.database)).toEqual([]);
  },
);
