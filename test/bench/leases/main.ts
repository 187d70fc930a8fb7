import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { v7 as uuidv7 } from "uuid";
import { createDatabase } from "../../../ledger/postgres/database.ts";
import { postCredit } from "../../../ledger/credit/entries.ts";
import { createLeaseBank, type LeaseBank } from "../../../ledger/leases/lease-bank.ts";
import { migrate } from "../../../ledger/postgres/migrate.ts";
import { startPostgres } from "../../../local/postgres.ts";
import { createCustomer } from "../../support/billing/ledger.ts";
import { markdownTable } from "../../support/documents/markdown-table.ts";
import { createCustomers } from "../customers.ts";
import { readUse } from "../processes.ts";
import { measureLimits } from "./limits.ts";
import { ANALYZE, measureVisits } from "./visits.ts";

/**
 * `npm run bench:leases`: what keeping credit leases costs Postgres, by processes and accounts. Every process holds a lease of
 * every account, which is the worst case: each account's clients reach all processes. Each verb is timed here, in
 * Postgres' CPU; what they come to a second follows from how often a process uses each.
 */
const ACCOUNTS = 1_000;
/** Processes, and accounts that come to each at once. */
const CASES = [
  [1, 1],
  [1, 5],
  [1, 20],
  [8, 1],
  [8, 20],
] as const;
/** extproc renews a lease at a third of its time (docs/decisions/0006). */
const RULES = { ttlMs: 90_000, minNanoUsd: 50_000_000n, maxNanoUsd: 5_000_000_000n };
const RENEWED_EVERY_S = 30;
const RENEWALS = 50;
/** An account without credit gets no lease. */
const CREDIT_NANO_USD = 1_000_000_000_000n;
/** Accounts that come alone, with this much credit: less than the largest lease is a small part of, and more. */
const VISITS = [20n, 100n].flatMap((creditUsd) => [
  ...[5, 30, 60].map((everyS) => ({ creditUsd, everyS, accounts: 60 })),
  // One each second, after its lease was returned as a whole.
  { creditUsd, everyS: 400, accounts: 400 },
]);
/** Requests a minute: far from its limit, an account's processes reserve ahead; at it, they ask for each request. */
const LIMITED = [
  { processes: 1, requestsPerMinute: 100_000 },
  { processes: 8, requestsPerMinute: 100_000 },
  { processes: 64, requestsPerMinute: 100_000 },
  { processes: 64, requestsPerMinute: 600 },
];

const dataDirectory = await mkdtemp(path.join(tmpdir(), "gateway-bench-"));
const server = await startPostgres({ dataDirectory });
const database = createDatabase({ url: server.url, applicationName: "bench", maxConnections: 64 });

/** Postgres' CPU of some work, microseconds. */
async function cpuMicros(work: () => Promise<void>): Promise<number> {
  const before = (await readUse([server.pid])).cpuMs;
  await work();
  return ((await readUse([server.pid])).cpuMs - before) * 1000;
}

async function begin(bank: LeaseBank, lease: { leaseId: string; accountId: string }): Promise<void> {
  const { isOpen } = await bank.grow({ ...lease, isNew: true, neededNanoUsd: 0n, wantedNanoUsd: 1_000_000n });
  if (!isOpen) throw new Error(`The account ${lease.accountId} has no credit for a lease.`);
}

try {
  await migrate(database);
  const customers = await createCustomers(database, ACCOUNTS, CREDIT_NANO_USD);

  const earlier = createLeaseBank(database, uuidv7(), RULES);
  for (const { accountId } of customers) await begin(earlier, { leaseId: uuidv7(), accountId });
  await earlier.giveBackAll();
  await database.execute(ANALYZE);

  const rows: string[][] = [];
  for (const [processes, batch] of CASES) {
    const holders = Array.from({ length: processes }, () => {
      const holder = uuidv7();
      const bank = createLeaseBank(database, holder, RULES);
      return { holder, bank, leases: customers.map(({ accountId }) => ({ leaseId: uuidv7(), accountId })) };
    });
    const all = async (work: (bank: LeaseBank, leases: (typeof holders)[number]["leases"]) => Promise<unknown>) => {
      await Promise.all(holders.map(({ bank, leases }) => work(bank, leases)));
    };
    const leases = processes * ACCOUNTS;
    const atOnce = (own: (typeof holders)[number]["leases"]) =>
      Array.from({ length: ACCOUNTS / batch }, (_, index) => own.slice(index * batch, (index + 1) * batch));
    const growing = await cpuMicros(() =>
      all(async (bank, own) => {
        for (const some of atOnce(own)) await Promise.all(some.map((lease) => begin(bank, lease)));
      }),
    );
    const renewing = await cpuMicros(async () => {
      for (let turn = 0; turn < RENEWALS; turn++) await all((bank, own) => bank.renew(own.map(({ leaseId }) => leaseId)));
    });
    const returning = await cpuMicros(() =>
      all(async (bank, own) => {
        for (const some of atOnce(own)) await Promise.all(some.map((lease) => bank.giveBack(lease)));
      }),
    );
    const perRenewal = renewing / leases / RENEWALS;
    rows.push([
      String(processes),
      String(batch),
      (growing / leases).toFixed(0),
      perRenewal.toFixed(1),
      (returning / leases).toFixed(0),
      `${((perRenewal * leases) / RENEWED_EVERY_S / 10_000).toFixed(2)}%`,
    ]);
  }
  const head = [
    "processes",
    "accounts at once",
    "grow, µs",
    "renew, µs",
    "give back, µs",
    `renewing ${ACCOUNTS} accounts, of one core`,
  ];
  console.log(markdownTable(head, rows));

  const visited: string[][] = [];
  for (const { creditUsd, everyS, accounts } of VISITS) {
    const accountIds: string[] = [];
    for (let number = 0; number < accounts; number++) {
      const { accountId } = await createCustomer(database, `visitor-${creditUsd}-${everyS}-${number}`);
      await postCredit(database, { accountId, kind: "grant", amountNanoUsd: creditUsd * 1_000_000_000n, reference: accountId });
      accountIds.push(accountId);
    }
    const micros = await measureVisits({ database, rules: RULES, cpuMicros }, { accountIds, everyS });
    visited.push([`${creditUsd} USD`, `${everyS} s`, micros.toFixed(0)]);
  }
  console.log(`\nAccounts that come alone:\n\n${markdownTable(["credit", "comes every", "a request, µs"], visited)}`);

  const limited: string[][] = [];
  for (const each of LIMITED) limited.push(await measureLimits({ database, cpuMicros }, { ...each, accounts: ACCOUNTS }));
  const limitedHead = ["processes", "limit", "Postgres, of one core", "turn p50, ms", "p99", "longest", "of the limit admitted"];
  console.log(`\nLimits of ${ACCOUNTS} accounts:\n\n${markdownTable(limitedHead, limited)}`);
} finally {
  await database.close();
  await server.stop();
  await rm(dataDirectory, { recursive: true, force: true });
}
