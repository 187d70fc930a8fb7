import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { v7 as uuidv7 } from "uuid";
import { createDatabase } from "../../../ledger/postgres/database.ts";
import { createLeaseBank, type LeaseBank } from "../../../ledger/leases/lease-bank.ts";
import { claimLimits, type LimitUse } from "../../../ledger/leases/limits.ts";
import { migrate } from "../../../ledger/postgres/migrate.ts";
import { startPostgres } from "../../../local/postgres.ts";
import { createCustomer, seedLedger } from "../../support/ledger.ts";
import { markdownTable } from "../../support/markdown-table.ts";
import { readUse } from "../processes.ts";

/**
 * `npm run bench:leases`: what keeping credit leases costs Postgres, by processes and accounts. Every process holds a lease of
 * every account, which is the worst case: each account's clients reach all processes. Each verb is timed here, in
 * Postgres' CPU; what they come to a second follows from how often a process uses each.
 */
const ACCOUNTS = 1_000;
const PROCESSES = [1, 2, 4, 8];
/** extproc renews a lease at a third of its time (docs/decisions/0006). */
const RULES = { ttlMs: 90_000, leastNanoUsd: 50_000_000n, mostNanoUsd: 5_000_000_000n };
const RENEWED_EVERY_S = 30;
const RENEWALS = 50;
const SHARES = 10;

const dataDirectory = await mkdtemp(path.join(tmpdir(), "gateway-bench-"));
const server = await startPostgres({ dataDirectory });
const database = createDatabase({ url: server.url, applicationName: "bench", maxConnections: 8 });

/** Postgres' CPU of some work, microseconds. */
async function cpuMicros(work: () => Promise<void>): Promise<number> {
  const before = (await readUse([server.pid])).cpuMs;
  await work();
  return ((await readUse([server.pid])).cpuMs - before) * 1000;
}

try {
  await migrate(database);
  const customers = [await seedLedger(database, "account-0")];
  for (let number = 1; number < ACCOUNTS; number++) customers.push(await createCustomer(database, `account-${number}`));

  const rows: string[][] = [];
  for (const processes of PROCESSES) {
    const holders = Array.from({ length: processes }, () => {
      const holder = uuidv7();
      const bank = createLeaseBank(database, holder, RULES);
      return { holder, bank, leases: customers.map(({ accountId }) => ({ leaseId: uuidv7(), accountId })) };
    });
    const all = async (work: (bank: LeaseBank, leases: (typeof holders)[number]["leases"]) => Promise<unknown>) => {
      await Promise.all(holders.map(({ bank, leases }) => work(bank, leases)));
    };
    const leases = processes * ACCOUNTS;
    const growing = await cpuMicros(() =>
      all(async (bank, own) => {
        for (const lease of own) await bank.grow({ ...lease, neededNanoUsd: 0n, wantedNanoUsd: 1_000_000n });
      }),
    );
    const renewing = await cpuMicros(async () => {
      for (let turn = 0; turn < RENEWALS; turn++) await all((bank, own) => bank.renew(own.map(({ leaseId }) => leaseId)));
    });
    const returning = await cpuMicros(() =>
      all(async (bank, own) => {
        for (const lease of own) await bank.giveBack(lease);
      }),
    );
    // Under one lock: what the turns of all processes take together must stay well below a second.
    const periodStartMs = Math.floor(Date.now() / 60_000) * 60_000;
    const uses = customers.map(({ accountId }): LimitUse => ({
      subject: `account:${accountId}`,
      kind: "requests",
      periodStartMs,
      used: 1n,
    }));
    const startedMs = performance.now();
    const sharing = await cpuMicros(async () => {
      for (let turn = 0; turn < SHARES; turn++)
        await Promise.all(
          holders.map(({ holder }) => claimLimits(database, holder, { uses, claim: (others) => others.map(() => 10n) })),
        );
    });
    const turnMs = (performance.now() - startedMs) / SHARES / processes;
    const perRenewal = renewing / leases / RENEWALS;
    rows.push([
      String(processes),
      (growing / leases).toFixed(0),
      perRenewal.toFixed(1),
      (returning / leases).toFixed(0),
      `${((perRenewal * leases) / RENEWED_EVERY_S / 10_000).toFixed(2)} %`,
      turnMs.toFixed(1),
      (sharing / SHARES / processes / 1000).toFixed(1),
    ]);
  }
  const head = [
    "processes",
    "grow, µs",
    "renew, µs",
    "give back, µs",
    `renewing ${ACCOUNTS} accounts, of one core`,
    `limits of ${ACCOUNTS} accounts, ms a turn`,
    "CPU of it, ms",
  ];
  console.log(markdownTable(head, rows));
} finally {
  await database.close();
  await server.stop();
  await rm(dataDirectory, { recursive: true, force: true });
}
