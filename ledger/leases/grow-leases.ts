import * as z from "zod";
import { GatewayError } from "../../contract/errors.ts";
import type { Database, Queryable } from "../postgres/database.ts";
import type { LeaseGrant, LeaseRequest, LeaseRules } from "./lease.ts";

/** One of a batch: others are granted although this account does not exist. */
export type GrowOutcome = LeaseGrant | GatewayError;

const accountRow = z.strictObject({
  accountId: z.string(),
  postedNanoUsd: z.bigint(),
  leasedNanoUsd: z.bigint(),
  overdraftNanoUsd: z.bigint(),
});
const leaseRow = z.strictObject({ leaseId: z.string(), grantedNanoUsd: z.bigint(), isOpen: z.boolean() });
const othersRow = z.strictObject({ accountId: z.string(), holders: z.bigint(), leasedNanoUsd: z.bigint() });

interface AccountState {
  spendableNanoUsd: bigint;
  freeNanoUsd: bigint;
  others: Pick<z.infer<typeof othersRow>, "holders" | "leasedNanoUsd">;
}

/**
 * Adds credit to leases of one holder, each of which begins with the first call of its id. A lease takes half of an even share
 * of what its account has free, within the rules' bounds, at least what is wanted, and never more than there is. Where there is
 * less than what is needed it takes nothing: a request that is refused must not keep others from what they need.
 * @returns for each request, in order; a GatewayError `not_found` where there is no such account.
 */
export async function growLeases(
  database: Database,
  { holder, requests }: { holder: string; requests: readonly Omit<LeaseRequest, "holder">[] },
  rules: LeaseRules,
): Promise<readonly GrowOutcome[]> {
  return database.transaction(async (transaction) => {
    const accountIds = [...new Set(requests.map(({ accountId }) => accountId))];
    const accounts = await lockAccounts(transaction, accountIds, holder);
    const leases = await lockLeases(transaction, requests);
    const grown: (Omit<LeaseRequest, "holder"> & { addedNanoUsd: bigint })[] = [];
    const recalls = new Map<string, bigint>();

    function decide(request: Omit<LeaseRequest, "holder">): GrowOutcome {
      const { leaseId, accountId, neededNanoUsd, wantedNanoUsd } = request;
      const account = accounts.get(accountId);
      if (account === undefined)
        return new GatewayError("not_found", `There is no account \`${accountId}\`.`, { field: "accountId" });
      const lease = leases.get(leaseId);
      const { freeNanoUsd, spendableNanoUsd, others } = account;
      const grantedNanoUsd = lease?.grantedNanoUsd ?? 0n;
      const facts = { spendableNanoUsd, leasedByOthersNanoUsd: others.leasedNanoUsd };
      const unchanged = { addedNanoUsd: 0n, grantedNanoUsd, freeNanoUsd, ...facts };
      if (lease?.isOpen === false) return { isOpen: false, ...unchanged };

      const shareNanoUsd = freeNanoUsd / (2n * (others.holders + 1n));
      const bounded = largest(rules.leastNanoUsd, smallest(rules.mostNanoUsd, shareNanoUsd));
      const addedNanoUsd = smallest(freeNanoUsd, largest(wantedNanoUsd, bounded));
      if (addedNanoUsd <= 0n || addedNanoUsd < neededNanoUsd) {
        if (others.leasedNanoUsd > 0n && neededNanoUsd > 0n) recalls.set(accountId, neededNanoUsd - freeNanoUsd);
        return { isOpen: lease !== undefined, ...unchanged };
      }
      account.freeNanoUsd -= addedNanoUsd;
      grown.push({ ...request, addedNanoUsd });
      return {
        isOpen: true,
        addedNanoUsd,
        grantedNanoUsd: grantedNanoUsd + addedNanoUsd,
        freeNanoUsd: account.freeNanoUsd,
        ...facts,
      };
    }

    const outcomes = requests.map(decide);
    for (const [accountId, nanoUsd] of recalls) await recall(transaction, accountId, nanoUsd);
    if (grown.length === 0) return outcomes;
    const amounts = grown.map(({ addedNanoUsd }) => addedNanoUsd);
    const ofAccounts = grown.map(({ accountId }) => accountId);
    await transaction.execute(
      `INSERT INTO credit_lease (lease_id, account_id, holder, granted_nano_usd, expires_at)
       SELECT lease_id, account_id, $4, added, clock_timestamp() + $5 * interval '1 millisecond'
       FROM unnest($1::uuid[], $2::text[], $3::bigint[]) AS grown (lease_id, account_id, added)
       ON CONFLICT (lease_id) DO UPDATE SET
         granted_nano_usd = credit_lease.granted_nano_usd + excluded.granted_nano_usd, expires_at = excluded.expires_at`,
      [grown.map(({ leaseId }) => leaseId), ofAccounts, amounts, holder, rules.ttlMs],
    );
    await moveLeased(transaction, ofAccounts, amounts);
    return outcomes;
  });
}

/** The same for one. @throws GatewayError `not_found` when there is no such account. */
export async function growLease(
  database: Database,
  { holder, ...request }: LeaseRequest,
  rules: LeaseRules,
): Promise<LeaseGrant> {
  const [outcome] = await growLeases(database, { holder, requests: [request] }, rules);
  if (outcome === undefined) throw new Error("The batch has no result for its lease.");
  if (outcome instanceof GatewayError) throw outcome;
  return outcome;
}

/** Holders learn of it by the feed; asked anew no sooner than they could have answered. */
const RECALL_EVERY_MS = 200;

/** Asks the holders of an account's leases to give back what they do not use, as much as is named. */
export async function recall(database: Queryable, accountId: string, nanoUsd: bigint): Promise<void> {
  await database.execute(
    `UPDATE account_balance SET recalled_nano_usd = $2, recalled_at = clock_timestamp(), version = version + 1
     WHERE account_id = $1
       AND (recalled_at IS NULL OR recalled_at < clock_timestamp() - $3 * interval '1 millisecond')`,
    [accountId, nanoUsd, RECALL_EVERY_MS],
  );
}

/** What accounts have in open leases changes by these amounts. Their balance rows are locked. */
export async function moveLeased(
  transaction: Queryable,
  accountIds: readonly string[],
  amounts: readonly bigint[],
): Promise<void> {
  await transaction.execute(
    `UPDATE account_balance SET leased_nano_usd = leased_nano_usd + moved, version = version + 1
     FROM (SELECT id, sum(amount)::bigint AS moved FROM unnest($1::text[], $2::bigint[]) AS one (id, amount) GROUP BY id) AS each
     WHERE account_id = id`,
    [accountIds, amounts],
  );
}

/** Locks balance rows in order, as settling does. Accounts that do not exist are left out. */
async function lockAccounts(
  transaction: Queryable,
  accountIds: readonly string[],
  holder: string,
): Promise<Map<string, AccountState>> {
  const accounts = await transaction.query({
    text: `SELECT account_id AS "accountId", posted_nano_usd AS "postedNanoUsd", leased_nano_usd AS "leasedNanoUsd",
             overdraft_nano_usd AS "overdraftNanoUsd"
           FROM account_balance WHERE account_id = ANY($1::text[]) ORDER BY account_id FOR NO KEY UPDATE`,
    values: [accountIds],
    row: accountRow,
  });
  // A statement of its own: it must see what the transactions that held the locks have done.
  const others = await transaction.query({
    text: `SELECT account_id AS "accountId", count(DISTINCT holder) AS holders,
             sum(granted_nano_usd - settled_nano_usd)::bigint AS "leasedNanoUsd"
           FROM credit_lease WHERE account_id = ANY($1::text[]) AND ended_at IS NULL AND holder <> $2 GROUP BY account_id`,
    values: [accountIds, holder],
    row: othersRow,
  });
  const byAccount = new Map(others.map((each) => [each.accountId, each]));
  return new Map(
    accounts.map(({ accountId, postedNanoUsd, leasedNanoUsd, overdraftNanoUsd }) => {
      const spendableNanoUsd = postedNanoUsd + overdraftNanoUsd;
      return [
        accountId,
        {
          spendableNanoUsd,
          freeNanoUsd: spendableNanoUsd - leasedNanoUsd,
          others: byAccount.get(accountId) ?? { holders: 0n, leasedNanoUsd: 0n },
        },
      ];
    }),
  );
}

async function lockLeases(
  transaction: Queryable,
  requests: readonly Pick<LeaseRequest, "leaseId">[],
): Promise<Map<string, z.infer<typeof leaseRow>>> {
  const leases = await transaction.query({
    text: `SELECT lease_id AS "leaseId", granted_nano_usd AS "grantedNanoUsd", ended_at IS NULL AS "isOpen"
           FROM credit_lease WHERE lease_id = ANY($1::uuid[]) ORDER BY account_id, lease_id FOR UPDATE`,
    values: [requests.map(({ leaseId }) => leaseId)],
    row: leaseRow,
  });
  return new Map(leases.map((lease) => [lease.leaseId, lease]));
}

function smallest(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}

function largest(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}
