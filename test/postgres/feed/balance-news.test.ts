import { Client } from "pg";
import { v7 as uuidv7 } from "uuid";
import { expect, onTestFinished, test } from "vitest";
import { postCredit } from "../../../ledger/credit/entries.ts";
import { growLease, recall } from "../../../ledger/leases/grow-leases.ts";
import type { LeaseRequest } from "../../../ledger/leases/lease.ts";
import { returnLeases, shrinkLeases } from "../../../ledger/leases/leases.ts";
import type { Database } from "../../../ledger/postgres/database.ts";
import { settle } from "../../../ledger/settlement/settle.ts";
import { readChanges } from "../../support/billing/changes.ts";
import { leaseOf } from "../../support/billing/lease.ts";
import { seedLedger, settlementOf, type Customer } from "../../support/billing/ledger.ts";
import { useOwnPostgres } from "../../support/billing/postgres.ts";

/** Which changes of a balance every process reads, and which of them at once (docs/decisions/0093). */
const postgres = useOwnPostgres();
const CREDIT = 1_000_000n;
const LEASED = 400_000n;
const RULES = { ttlMs: 60_000, minNanoUsd: LEASED, maxNanoUsd: LEASED };
const LAST = "last";

interface Subject {
  database: Database;
  customer: Customer;
  /** Of 400,000 of the 1,000,000 nano-USD. */
  lease: Pick<LeaseRequest, "leaseId" | "accountId">;
}

const charge = ({ database, customer, lease: { leaseId } }: Subject, chargeNanoUsd: bigint) =>
  settle(database, [settlementOf(customer, { leaseId, chargeNanoUsd })]);
const post = ({ database }: Subject, kind: "grant" | "adjust", amountNanoUsd: bigint) =>
  postCredit(database, { accountId: "acme", kind, amountNanoUsd, reference: uuidv7() });

const NOTHING = { isRead: false, isAtOnce: false };
const LATER = { isRead: true, isAtOnce: false };
const AT_ONCE = { isRead: true, isAtOnce: true };

interface Case {
  news: { isRead: boolean; isAtOnce: boolean };
  before?: (subject: Subject) => Promise<unknown>;
  act(subject: Subject): Promise<unknown>;
}

const CASES: Record<string, Case> = {
  "a charge that its lease pays": { news: NOTHING, act: (subject) => charge(subject, LEASED) },
  "a charge of more than its lease": { news: LATER, act: (subject) => charge(subject, LEASED + 1n) },
  "the charge that uses up the credit": {
    news: AT_ONCE,
    before: (subject) => post(subject, "adjust", LEASED - CREDIT),
    act: (subject) => charge(subject, LEASED),
  },
  "a lease that begins": { news: LATER, act: ({ database }) => growLease(database, leaseOf(), RULES) },
  "a lease that returns a part": {
    news: LATER,
    act: ({ database, lease }) => shrinkLeases(database, [{ ...lease, nanoUsd: 1n }]),
  },
  "a lease that ends": { news: LATER, act: ({ database, lease }) => returnLeases(database, [lease]) },
  "credit that somebody waits for": { news: AT_ONCE, act: ({ database }) => recall(database, "acme", 1n) },
  "a lease that ends while somebody waits": {
    news: AT_ONCE,
    before: ({ database }) => recall(database, "acme", 1n),
    act: ({ database, lease }) => returnLeases(database, [lease]),
  },
  "a charge while somebody waits": {
    news: NOTHING,
    before: ({ database }) => recall(database, "acme", 1n),
    act: (subject) => charge(subject, 1n),
  },
  "a lease that ends long after somebody waited": {
    news: LATER,
    before: async ({ database }) => {
      await recall(database, "acme", 1n);
      await database.execute("UPDATE account_balance SET recalled_at = recalled_at - interval '11 seconds'");
    },
    act: ({ database, lease }) => returnLeases(database, [lease]),
  },
  "credit that is added": { news: AT_ONCE, act: (subject) => post(subject, "grant", 1n) },
  "credit that is taken": { news: LATER, act: (subject) => post(subject, "adjust", -1n) },
  "credit that is taken although it is leased": {
    news: AT_ONCE,
    act: (subject) => post(subject, "adjust", LEASED - CREDIT - 1n),
  },
  "another overdraft": {
    news: AT_ONCE,
    act: ({ database }) => database.execute("UPDATE account_balance SET overdraft_nano_usd = 1"),
  },
};

test.for(Object.entries(CASES))("%s", async ([_name, { news, before, act }]) => {
  const { database, url } = await postgres.migrated();
  const customer = await seedLedger(database);
  await postCredit(database, { accountId: "acme", kind: "grant", amountNanoUsd: CREDIT, reference: "start" });
  const request = leaseOf();
  await growLease(database, request, RULES);
  const { leaseId, accountId } = request;
  const subject = { database, customer, lease: { leaseId, accountId } };
  await before?.(subject);
  const { seen } = await readChanges(database);
  const notices = await listen(url);

  await act(subject);
  const { accounts } = await readChanges(database, seen);
  await database.execute(`NOTIFY ledger_changed, '${LAST}'`);
  const isAtOnce = (await notices.untilLast()) > 0;
  expect({ isRead: accounts.length > 0, isAtOnce }).toEqual(news);
});

/** Counts the notices before the last one. */
async function listen(url: string): Promise<{ untilLast(): Promise<number> }> {
  const client = new Client(url);
  const last = Promise.withResolvers<number>();
  let count = 0;
  client.on("notification", ({ payload }) => {
    if (payload === LAST) last.resolve(count);
    count += 1;
  });
  await client.connect();
  onTestFinished(() => client.end());
  await client.query("LISTEN ledger_changed");
  return { untilLast: () => last.promise };
}
