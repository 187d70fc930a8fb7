import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { checkLedger } from "../../../ledger/upkeep/check.ts";
import { startPostgres, type Postgres } from "../../../local/postgres.ts";
import { eventually } from "../../support/eventually.ts";
import { countRows } from "../../support/billing/ledger.ts";
import { startTestStack, type TestStack } from "../../support/stacks/stack.ts";

/** PostgreSQL goes away for a minute under load, and comes back (docs/architecture.md). */
const AWAY_MS = 60_000;
const WORKERS = 2;
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

interface Answer {
  requestId: string | null;
  status: number;
  code: unknown;
  retryAfter: string | null;
}

async function ask(apiKey: string): Promise<Answer> {
  const response = await fetch(`${stack.baseUrl}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${apiKey}` },
    body: JSON.stringify({ model: "modelx-v4-flash", max_tokens: 64, messages: [{ role: "user", content: "Hello." }] }),
  });
  const body: unknown = await response.json();
  return {
    requestId: response.headers.get("x-request-id"),
    status: response.status,
    code: Reflect.get(Object(Reflect.get(Object(body), "error")), "code"),
    retryAfter: response.headers.get("retry-after"),
  };
}

/** Requests with a prompt log, by what became of their records. */
async function recorded(): Promise<ReadonlyMap<string, number>> {
  const metrics = await (await fetch(`${stack.extprocAdminUrl}/metrics`)).text();
  const counts = metrics.matchAll(/^gateway_prompt_records_total\{result="(\w+)"\} (\d+)$/gm);
  return new Map([...counts].map(([, result = "", count]) => [result, Number(count)]));
}

let warmUps = 0;

async function stopDatabase(): Promise<void> {
  const pid = stack.pids["postgres"];
  if (pid === undefined) throw new Error("the stack has no Postgres");
  process.kill(pid, "SIGINT");
  await stack.failed;
}

test(
  "accounts with leases are served, others get 503 with retry-after, and nothing is lost afterwards but recorded prompts, which are counted (S60)",
  { timeout: 240_000 },
  async () => {
    const cold = await stack.createAccount({ name: "cold", creditNanoUsd: 1_000_000_000n });
    await stack.database.execute("UPDATE api_key SET prompt_log_days = 1 WHERE account_id <> $1", [cold.accountId]);
    await eventually(async () => {
      expect((await ask(stack.apiKey)).status).toBe(200);
      warmUps += 1;
      expect((await recorded()).get("stored")).toBeGreaterThan(0);
    });
    await stack.idle();
    // Records are written in their order, behind the requests.
    const last = await ask(stack.apiKey);
    warmUps += 1;
    await eventually(async () =>
      expect(await stack.database.execute("SELECT FROM prompt_record WHERE request_id = $1", [last.requestId])).toBe(1),
    );
    const before = await recorded();
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
    expect(refused).toMatchObject({ status: 503, code: "billing_unavailable", retryAfter: expect.stringMatching(/^\d+$/) });
    // A key that is not known may have been made a moment ago.
    await sleep(15_000);
    expect(await ask(`sk-mg-000000000000${"0".repeat(43)}`)).toMatchObject({ status: 503, code: "billing_unavailable" });
    await Promise.all(load);
    expect(statuses.length).toBeGreaterThan(WORKERS * 10);
    expect(new Set(statuses)).toEqual(new Set([200]));

    restarted = await startPostgres({ dataDirectory: stack.directory.postgres, port: Number(new URL(stack.databaseUrl).port) });
    await eventually(async () => expect((await ask(cold.apiKey)).status).toBe(200), { withinMs: 20_000 });
    await eventually(async () => void (await stack.idle()), { withinMs: 30_000 });
    expect(await stack.countUsage()).toBe(statuses.length + warmUps + 1);
    // What waited when the database came back is written.
    await eventually(async () => {
      const counts = await recorded();
      const lost = (counts.get("failed") ?? 0) + (counts.get("no_room") ?? 0);
      const stored = (counts.get("stored") ?? 0) - (before.get("stored") ?? 0);
      expect(lost).toBeGreaterThan(0);
      expect(lost + stored).toBe(statuses.length);
      expect(await countRows(stack.database, "prompt_record")).toBe(BigInt(counts.get("stored") ?? 0));
    });
    expect(await stack.sumOfEntries()).toBe(await stack.balanceNanoUsd());
    expect(await checkLedger(stack.database)).toEqual([]);
  },
);
