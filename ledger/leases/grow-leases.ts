import * as z from "zod";
import { GatewayError } from "../../contract/errors.ts";
import { largest, smallest } from "../money.ts";
import type { Database, Queryable } from "../postgres/database.ts";
import { boundWaiting, HELD, type Held, type Waiting } from "./held.ts";
import type { LeaseGrant, LeaseRequest, LeaseRules } from "./lease.ts";

/** One of a batch: others are granted even if this account does not exist. */
export type GrowOutcome = LeaseGrant | GatewayError;

const accountRow = z.strictObject({
  accountId: z.string(),
  postedNanoUsd: z.bigint(),
  leasedNanoUsd: z.bigint(),
  overdraftNanoUsd: z.bigint(),
});
/** For an account, the total leased by other holders; or one lease of this holder. */
const leasedRow = z.union([
  z.strictObject({ accountId: z.string(), leaseId: z.null(), nanoUsd: z.bigint(), holders: z.bigint(), isOpen: z.null() }),
  z.strictObject({ accountId: z.string(), leaseId: z.string(), nanoUsd: z.bigint(), holders: z.null(), isOpen: z.boolean() }),
]);

interface Others {
  holders: bigint;
  leasedNanoUsd: bigint;
}

interface Leased {
  /** By account. */
  others: ReadonlyMap<string, Others>;
  /** By id. */
  leases: ReadonlyMap<string, { grantedNanoUsd: bigint; isOpen: boolean }>;
}

interface AccountState {
  spendableNanoUsd: bigint;
  freeNanoUsd: bigint;
}

const NO_OTHERS: Others = { holders: 0n, leasedNanoUsd: 0n };

interface Growth {
  holder: string;
  requests: readonly Omit<LeaseRequest, "holder">[];
}

/**
 * Adds credit to leases of one holder, each of which begins with the first call of its id. A lease takes half of an even share
 * of its account's free credit, within the rules' bounds, at least the wanted amount, and never more than there is. If less than
 * the needed amount is free, it takes nothing: a refused request must not take credit that others need.
 * @returns one result per request, in order; a GatewayError `not_found` for an unknown account.
 */
export async function growLeases(
  database: Database,
  growth: Growth,
  rules: LeaseRules,
  wait: Waiting = {},
): Promise<readonly GrowOutcome[]> {
  // A statement of its own has no lock timeout.
  const begun = wait.lockTimeoutMs === undefined ? await beginAlone(database, growth, { rules, statement: BEGIN }) : undefined;
  return begun ?? growTogether(database, growth, { rules, wait, absent: noSuchAccount });
}

/** The same, without waiting. @returns "held" for an account whose balance somebody holds, or that does not exist. */
export async function tryToGrowLeases(
  database: Database,
  growth: Growth,
  rules: LeaseRules,
): Promise<readonly (LeaseGrant | Held)[]> {
  const begun = await beginAlone(database, growth, { rules, statement: BEGIN_IF_FREE });
  return begun ?? growTogether(database, growth, { rules, wait: null, absent: (): Held => HELD });
}

function noSuchAccount(accountId: string): GatewayError {
  return new GatewayError("not_found", `There is no account \`${accountId}\`.`, { field: "accountId" });
}

const grantRow = z.strictObject({ addedNanoUsd: z.bigint(), spendableNanoUsd: z.bigint(), leasedByOthersNanoUsd: z.bigint() });

/**
 * One statement, and so one round trip, for an account that comes alone. All amounts are those of the locked row, so a lease that
 * this process is just returning counts as one of others. Holders are counted as of before the lock: if several begin at once,
 * a later one may take more than an even share.
 */
const beginText = (locking: "" | "SKIP LOCKED") => `
  WITH locked AS (
    SELECT account_id, posted_nano_usd + overdraft_nano_usd AS spendable, leased_nano_usd AS leased,
           posted_nano_usd + overdraft_nano_usd - leased_nano_usd AS free
    FROM account_balance WHERE account_id = $2 FOR NO KEY UPDATE ${locking}
  ), decided AS MATERIALIZED (
    SELECT *, least(free, greatest($4::bigint, $5::bigint, least($6::bigint, free / (2 * (1 + (
             SELECT count(DISTINCT holder) FROM credit_lease WHERE account_id = $2 AND ended_at IS NULL AND holder <> $3
           )))))) AS added
    FROM locked
  ), moved AS (
    UPDATE account_balance SET leased_nano_usd = leased_nano_usd + added, version = version + 1
    FROM decided
    WHERE account_balance.account_id = decided.account_id AND added >= greatest($7::bigint, 1)
      AND NOT EXISTS (SELECT FROM credit_lease WHERE lease_id = $1)
    RETURNING decided.*
  ), begun AS (
    INSERT INTO credit_lease (lease_id, account_id, holder, granted_nano_usd, expires_at)
    SELECT $1, account_id, $3, added, clock_timestamp() + $8 * interval '1 millisecond' FROM moved
  )
  SELECT added AS "addedNanoUsd", spendable AS "spendableNanoUsd", leased AS "leasedByOthersNanoUsd" FROM moved`;
const BEGIN = { name: "lease-begin", text: beginText("") };
const BEGIN_IF_FREE = { name: "lease-begin-free", text: beginText("SKIP LOCKED") };

/** @returns undefined, and nothing has changed, unless it is one lease and has begun. */
async function beginAlone(
  database: Database,
  { holder, requests: [request, ...others] }: Growth,
  { rules: { minNanoUsd, maxNanoUsd, ttlMs }, statement }: { rules: LeaseRules; statement: { name: string; text: string } },
): Promise<readonly [LeaseGrant] | undefined> {
  if (request?.isNew !== true || others.length > 0) return undefined;
  const { leaseId, accountId, neededNanoUsd, wantedNanoUsd } = request;
  const [row] = await database.query({
    ...statement,
    values: [leaseId, accountId, holder, wantedNanoUsd, minNanoUsd, maxNanoUsd, neededNanoUsd, ttlMs],
    row: grantRow,
  });
  if (row === undefined) return undefined;
  const { addedNanoUsd, spendableNanoUsd, leasedByOthersNanoUsd } = row;
  return [
    {
      isOpen: true,
      addedNanoUsd,
      grantedNanoUsd: addedNanoUsd,
      freeNanoUsd: spendableNanoUsd - leasedByOthersNanoUsd - addedNanoUsd,
      spendableNanoUsd,
      leasedByOthersNanoUsd,
    },
  ];
}

interface GrowOptions<Absent> {
  rules: LeaseRules;
  /** null: it does not wait for held accounts. */
  wait: Waiting | null;
  /** The outcome for an account that is not locked: there is none, or it is held. */
  absent(accountId: string): Absent;
}

async function growTogether<Absent>(
  database: Database,
  { holder, requests }: Growth,
  { rules, wait, absent }: GrowOptions<Absent>,
): Promise<readonly (LeaseGrant | Absent)[]> {
  return database.transaction(async (transaction) => {
    const accountIds = [...new Set(requests.map(({ accountId }) => accountId))];
    const accounts = await lockAccounts(transaction, accountIds, wait);
    const leased = await readLeased(transaction, { accountIds, holder, leaseIds: requests.map(({ leaseId }) => leaseId) });
    const grown: (Omit<LeaseRequest, "holder"> & { addedNanoUsd: bigint })[] = [];
    const recalls = new Map<string, bigint>();

    function decide(request: Omit<LeaseRequest, "holder">): LeaseGrant | Absent {
      const { leaseId, accountId, neededNanoUsd, wantedNanoUsd } = request;
      const account = accounts.get(accountId);
      if (account === undefined) return absent(accountId);
      const lease = leased.leases.get(leaseId);
      const others = leased.others.get(accountId) ?? NO_OTHERS;
      const { freeNanoUsd, spendableNanoUsd } = account;
      const grantedNanoUsd = lease?.grantedNanoUsd ?? 0n;
      const facts = { spendableNanoUsd, leasedByOthersNanoUsd: others.leasedNanoUsd };
      const unchanged = { addedNanoUsd: 0n, grantedNanoUsd, freeNanoUsd, ...facts };
      if (lease?.isOpen === false) return { isOpen: false, ...unchanged };

      const shareNanoUsd = freeNanoUsd / (2n * (others.holders + 1n));
      const bounded = largest(rules.minNanoUsd, smallest(rules.maxNanoUsd, shareNanoUsd));
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
    await transaction.execute(
      GROW,
      [
        grown.map(({ leaseId }) => leaseId),
        grown.map(({ accountId }) => accountId),
        grown.map(({ addedNanoUsd }) => addedNanoUsd),
        holder,
        rules.ttlMs,
      ],
      "lease-grow",
    );
    return outcomes;
  });
}

const GROW = `
  WITH grown AS (
    SELECT * FROM unnest($1::uuid[], $2::text[], $3::bigint[]) AS grown (lease_id, account_id, added)
  ), moved AS (
    UPDATE account_balance SET leased_nano_usd = leased_nano_usd + added, version = version + 1
    FROM (SELECT account_id, sum(added)::bigint AS added FROM grown GROUP BY account_id) AS of_account
    WHERE account_balance.account_id = of_account.account_id
  )
  INSERT INTO credit_lease (lease_id, account_id, holder, granted_nano_usd, expires_at)
  SELECT lease_id, account_id, $4, added, clock_timestamp() + $5 * interval '1 millisecond'
  FROM grown ORDER BY account_id, lease_id
  ON CONFLICT (lease_id) DO UPDATE SET
    granted_nano_usd = credit_lease.granted_nano_usd + excluded.granted_nano_usd, expires_at = excluded.expires_at`;

/** The same for one lease. @throws GatewayError `not_found` if there is no such account. */
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

/** Holders are notified through the feed, and asked again only after they have had time to answer. */
const RECALL_EVERY_MS = 200;

/**
 * Asks the holders of an account's leases to return unused credit, up to the given amount. A time in the future was written by
 * a primary whose clock was ahead.
 */
export async function recall(database: Queryable, accountId: string, nanoUsd: bigint): Promise<void> {
  await database.execute(
    `UPDATE account_balance SET recalled_nano_usd = $2, recalled_at = clock_timestamp(), version = version + 1
     WHERE account_id = $1
       AND (recalled_at IS NULL OR recalled_at < clock_timestamp() - $3 * interval '1 millisecond'
         OR recalled_at > clock_timestamp())`,
    [accountId, nanoUsd, RECALL_EVERY_MS],
  );
}

const LOCK_TEXT = `SELECT account_id AS "accountId", posted_nano_usd AS "postedNanoUsd", leased_nano_usd AS "leasedNanoUsd",
    overdraft_nano_usd AS "overdraftNanoUsd"
  FROM account_balance WHERE account_id = ANY($1::text[]) ORDER BY account_id FOR NO KEY UPDATE`;
const LOCK = { name: "lease-accounts", text: LOCK_TEXT };
const LOCK_FREE = { name: "lease-accounts-free", text: `${LOCK_TEXT} SKIP LOCKED` };

/** Locks balance rows in order, as settling does. Accounts that do not exist are left out, and so are held ones unless it waits. */
async function lockAccounts(
  transaction: Queryable,
  accountIds: readonly string[],
  wait: Waiting | null,
): Promise<Map<string, AccountState>> {
  if (wait !== null) await boundWaiting(transaction, wait);
  const accounts = await transaction.query({ ...(wait === null ? LOCK_FREE : LOCK), values: [accountIds], row: accountRow });
  return new Map(
    accounts.map(({ accountId, postedNanoUsd, leasedNanoUsd, overdraftNanoUsd }) => {
      const spendableNanoUsd = postedNanoUsd + overdraftNanoUsd;
      return [accountId, { spendableNanoUsd, freeNanoUsd: spendableNanoUsd - leasedNanoUsd }];
    }),
  );
}

/**
 * Separate from locking, because it must see the effects of the transactions that held the locks. Amounts of leases and their
 * ends change only while their account is locked.
 */
async function readLeased(
  transaction: Queryable,
  { accountIds, holder, leaseIds }: { accountIds: readonly string[]; holder: string; leaseIds: readonly string[] },
): Promise<Leased> {
  const rows = await transaction.query({
    name: "lease-leased",
    text: `SELECT account_id AS "accountId", NULL::uuid AS "leaseId",
             sum(granted_nano_usd - settled_nano_usd)::bigint AS "nanoUsd", count(DISTINCT holder) AS holders, NULL::boolean AS "isOpen"
           FROM credit_lease WHERE account_id = ANY($1::text[]) AND ended_at IS NULL AND holder <> $2 GROUP BY account_id
           UNION ALL
           SELECT account_id, lease_id, granted_nano_usd, NULL, ended_at IS NULL
           FROM credit_lease WHERE lease_id = ANY($3::uuid[])`,
    values: [accountIds, holder, leaseIds],
    row: leasedRow,
  });
  const others = new Map<string, Others>();
  const leases = new Map<string, { grantedNanoUsd: bigint; isOpen: boolean }>();
  for (const row of rows) {
    if (row.leaseId === null) others.set(row.accountId, { holders: row.holders, leasedNanoUsd: row.nanoUsd });
    else leases.set(row.leaseId, { grantedNanoUsd: row.nanoUsd, isOpen: row.isOpen });
  }
  return { others, leases };
}
