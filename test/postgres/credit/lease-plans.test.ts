import { expect, test } from "vitest";
import type { Database } from "../../../ledger/postgres/database.ts";
import { postCredit } from "../../../ledger/credit/entries.ts";
import { growLease, growLeases } from "../../../ledger/leases/grow-leases.ts";
import type { LeaseRules } from "../../../ledger/leases/lease.ts";
import { endLeasesOf, renewLeases } from "../../../ledger/leases/leases.ts";
import { explainQueries } from "../../support/billing/explained-queries.ts";
import { leaseOf } from "../../support/billing/lease.ts";
import { createCustomer, seedLedger } from "../../support/billing/ledger.ts";
import { usePostgres } from "../../support/billing/postgres.ts";

const postgres = usePostgres();
const SMALL: LeaseRules = { ttlMs: 45_000, minNanoUsd: 1n, maxNanoUsd: 1n };

const request = (accountId: string, holder: string) => leaseOf({ accountId, holder, wantedNanoUsd: 1n });

test("statements about leases read those that they name, although the planner believes that none is open", async () => {
  const { database } = await postgres.migrated();
  await seedLedger(database);
  await postCredit(database, { accountId: "acme", kind: "grant", amountNanoUsd: 1_000_000n, reference: "start" });
  const others = await createCustomer(database, "others");
  await postCredit(database, { accountId: "others", kind: "grant", amountNanoUsd: 1_000_000n, reference: "others" });
  const begin = async (accountId: string, count: number) => {
    const requests = Array.from({ length: count }, () => request(accountId, accountId));
    await growLeases(database, { holder: accountId, requests }, SMALL);
    return requests;
  };
  await begin(others.accountId, 100);
  await endLeasesOf(database, others.accountId);
  await database.execute("ANALYZE credit_lease");
  await begin(others.accountId, 1_000);
  const own = await begin("acme", 200);
  const leaseIds = own.map(({ leaseId }) => leaseId);

  const operations: readonly ((explained: Database) => Promise<unknown>)[] = [
    (explained) => renewLeases(explained, leaseIds, SMALL),
    (explained) => growLease(explained, request("acme", "new"), SMALL).catch(() => "nothing is read back"),
  ];
  for (const operation of operations) {
    const explained = explainQueries(database);
    await operation(explained.database);
    expect(explained.plans.join("\n")).toContain("credit_lease");
    expect.soft(explained.rowsRemoved(), explained.plans.join("\n")).toBeLessThanOrEqual(2 * leaseIds.length);
  }
});
