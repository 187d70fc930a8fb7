import { execFile } from "node:child_process";
import { rename, rm } from "node:fs/promises";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { postCredit } from "../../../ledger/credit/entries.ts";
import { checkLedger } from "../../../ledger/upkeep/check.ts";
import { startPostgres, type Postgres } from "../../../local/postgres.ts";
import { eventually } from "../../support/eventually.ts";
import { startTestStack, type TestStack } from "../../support/stacks/stack.ts";

/** PostgreSQL comes back without its last changes: a standby that lagged behind, or a backup. */

const ONE_USD = 1_000_000_000n;

let stack: TestStack;
let postgres: Postgres | undefined;
beforeAll(async () => {
  stack = await startTestStack({ creditNanoUsd: 1_000n * ONE_USD, restartsParts: false });
});
afterAll(async () => {
  await postgres?.stop();
  await stack.stop();
});

async function ask(apiKey: string): Promise<number> {
  const response = await fetch(`${stack.baseUrl}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${apiKey}` },
    body: JSON.stringify({ model: "modelx-v4-flash", max_tokens: 64, messages: [{ role: "user", content: "Hello." }] }),
  });
  await response.arrayBuffer();
  return response.status;
}

async function stopFirst(): Promise<void> {
  const pid = stack.pids["postgres"];
  if (pid === undefined) throw new Error("the stack has no Postgres");
  process.kill(pid, "SIGINT");
  await stack.failed;
}

async function start(): Promise<Postgres> {
  return startPostgres({ dataDirectory: stack.directory.postgres, port: Number(new URL(stack.databaseUrl).port) });
}

test(
  "its balances count, although those that are known are newer, and every charge is in the ledger",
  { timeout: 120_000 },
  async () => {
    const { apiKey, accountId } = await stack.createAccount({ name: "restored", creditNanoUsd: ONE_USD });
    await stack.idle();
    await stopFirst();
    const before = `${stack.directory.postgres}-before`;
    await promisify(execFile)("cp", ["-a", stack.directory.postgres, before]);
    postgres = await start();
    await eventually(async () => expect(await ask(apiKey)).toBe(200), { withinMs: 20_000 });
    await stack.idle();
    for (const reference of ["one", "two", "three"])
      await postCredit(stack.database, { accountId, kind: "adjust", amountNanoUsd: -ONE_USD, reference, note: "lost later" });
    await eventually(async () => expect(await ask(apiKey)).toBe(402), { withinMs: 20_000 });
    await stack.idle();

    await postgres.stop();
    await rm(stack.directory.postgres, { recursive: true });
    await rename(before, stack.directory.postgres);
    postgres = await start();
    await eventually(async () => expect(await ask(apiKey)).toBe(200), { withinMs: 30_000 });
    await stack.idle();
    expect(await stack.countUsage()).toBe(1);
    expect(await stack.sumOfEntries(accountId)).toBe(await stack.balanceNanoUsd(accountId));
    expect(await checkLedger(stack.database)).toEqual([]);
  },
);
