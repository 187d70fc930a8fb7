import { v7 as uuidv7 } from "uuid";
import { expect, test } from "vitest";
import * as z from "zod";
import { postCredit } from "../../../ledger/credit/entries.ts";
import { growLease } from "../../../ledger/leases/grow-leases.ts";
import type { LeaseRules } from "../../../ledger/leases/lease.ts";
import { returnLeases, shrinkLeases } from "../../../ledger/leases/leases.ts";
import type { Database, Queryable } from "../../../ledger/postgres/database.ts";
import { checkLedger } from "../../../ledger/upkeep/check.ts";
import { leaseOf } from "../../support/billing/lease.ts";
import { seedLedger } from "../../support/billing/ledger.ts";
import { usePostgres } from "../../support/billing/postgres.ts";

/** Credit that is given up may be lost to a crash of Postgres, and is leased on then; credit that is leased may not. */
const postgres = usePostgres();
const RULES: LeaseRules = { ttlMs: 45_000, minNanoUsd: 10_000n, maxNanoUsd: 400_000n };

test.for(["shrink", "return"] as const)(
  "to %s a lease does not wait for the disk, and what its connection writes next does",
  async (verb) => {
    const { database } = await postgres.migrated();
    await seedLedger(database);
    await postCredit(database, { accountId: "acme", kind: "grant", amountNanoUsd: 1_000_000n, reference: "start" });
    const leaseId = uuidv7();
    await growLease(database, leaseOf({ leaseId }), RULES);
    const row = z.strictObject({ synchronous_commit: z.string() });
    const readMode = async (queryable: Queryable) =>
      (await queryable.query({ text: "SHOW synchronous_commit", row }))[0]?.synchronous_commit;
    const modes = await database.transaction(async (transaction) => {
      const connection: Database = { ...database, ...transaction, transaction: (work) => work(transaction) };
      const before = await readMode(transaction);
      if (verb === "shrink") await shrinkLeases(connection, [{ leaseId, accountId: "acme", nanoUsd: 1_000n }]);
      else await returnLeases(connection, [{ leaseId, accountId: "acme" }]);
      return [before, await readMode(transaction)];
    });
    expect(modes).toEqual(["on", "off"]);
    const after = await Promise.all(Array.from({ length: 10 }, () => readMode(database)));
    expect(new Set(after)).toEqual(new Set(["on"]));
    await growLease(database, leaseOf(), RULES);
    expect(await checkLedger(database)).toEqual([]);
  },
);
