import * as z from "zod";
import { GatewayError } from "../../contract/errors.ts";
import type { Database, Queryable } from "../postgres/database.ts";

/**
 * Leases: parts of an account's credit that single processes spend without asking (S30). Everything here that moves
 * credit locks the account's balance row first and the lease after it, as settling does.
 */

export interface LeaseRules {
  /** How long a lease stays in force without a renewal. */
  ttlMs: number;
  /** The least and the most that is taken at once, nano-USD; a request that needs more gets what it needs. */
  leastNanoUsd: bigint;
  mostNanoUsd: bigint;
}

export interface LeaseRequest {
  leaseId: string;
  accountId: string;
  /** The process that asks. */
  holder: string;
  /** What must be added for a request to go on: less is of no use, and nothing is added then. 0n refills. */
  neededNanoUsd: bigint;
  /** What is added where there is enough. */
  wantedNanoUsd: bigint;
}

/** What was added to a lease, and what is left of the account after it. */
export interface LeaseGrant {
  /** False: the lease has ended, and another one is needed. */
  isOpen: boolean;
  addedNanoUsd: bigint;
  /** All that the lease has been given, with what an earlier call gave whose answer was lost. */
  grantedNanoUsd: bigint;
  /** Sum of the account's entries and its overdraft: all it could spend if nothing were leased. */
  spendableNanoUsd: bigint;
  /** What is left to lease after this. Below zero where more was used than there was. */
  freeNanoUsd: bigint;
  /** In open leases of other processes. */
  leasedByOthersNanoUsd: bigint;
}

const accountRow = z.strictObject({ postedNanoUsd: z.bigint(), leasedNanoUsd: z.bigint(), overdraftNanoUsd: z.bigint() });
const leaseRow = z.strictObject({ grantedNanoUsd: z.bigint(), isOpen: z.boolean() });
const othersRow = z.strictObject({ holders: z.bigint(), leasedNanoUsd: z.bigint() });

/**
 * Adds credit to a lease, which begins with the first call of its id. It takes half of an even share of what the account
 * has free, within the rules' bounds, at least what is wanted, and never more than there is. Where there is less than what
 * is needed it takes nothing: a request that is refused must not keep others from what they need.
 * @throws GatewayError `not_found` when there is no such account.
 */
export async function growLease(
  database: Database,
  { leaseId, accountId, holder, neededNanoUsd, wantedNanoUsd }: LeaseRequest,
  { ttlMs, leastNanoUsd, mostNanoUsd }: LeaseRules,
): Promise<LeaseGrant> {
  return database.transaction(async (transaction) => {
    const account = await lockAccount(transaction, accountId);
    const [lease] = await transaction.query({
      text: `SELECT granted_nano_usd AS "grantedNanoUsd", ended_at IS NULL AS "isOpen"
             FROM credit_lease WHERE lease_id = $1 FOR UPDATE`,
      values: [leaseId],
      row: leaseRow,
    });
    const others = await readOthers(transaction, accountId, holder);
    const spendableNanoUsd = account.postedNanoUsd + account.overdraftNanoUsd;
    const freeNanoUsd = spendableNanoUsd - account.leasedNanoUsd;
    const grantedNanoUsd = lease?.grantedNanoUsd ?? 0n;
    const facts = { spendableNanoUsd, leasedByOthersNanoUsd: others.leasedNanoUsd };
    const unchanged = { addedNanoUsd: 0n, grantedNanoUsd, freeNanoUsd, ...facts };
    if (lease?.isOpen === false) return { isOpen: false, ...unchanged };

    const shareNanoUsd = freeNanoUsd / (2n * (others.holders + 1n));
    const addedNanoUsd = smallest(
      freeNanoUsd,
      largest(wantedNanoUsd, largest(leastNanoUsd, smallest(mostNanoUsd, shareNanoUsd))),
    );
    if (addedNanoUsd <= 0n || addedNanoUsd < neededNanoUsd) {
      if (others.leasedNanoUsd > 0n && neededNanoUsd > 0n) await recall(transaction, accountId, neededNanoUsd - freeNanoUsd);
      return { isOpen: lease !== undefined, ...unchanged };
    }

    await transaction.execute(
      `INSERT INTO credit_lease (lease_id, account_id, holder, granted_nano_usd, expires_at)
       VALUES ($1, $2, $3, $4, clock_timestamp() + $5 * interval '1 millisecond')
       ON CONFLICT (lease_id) DO UPDATE SET
         granted_nano_usd = credit_lease.granted_nano_usd + excluded.granted_nano_usd, expires_at = excluded.expires_at`,
      [leaseId, accountId, holder, addedNanoUsd, ttlMs],
    );
    await moveLeased(transaction, accountId, addedNanoUsd);
    return {
      isOpen: true,
      addedNanoUsd,
      grantedNanoUsd: grantedNanoUsd + addedNanoUsd,
      freeNanoUsd: freeNanoUsd - addedNanoUsd,
      ...facts,
    };
  });
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

/**
 * Takes back a part of an open lease that its holder no longer counts on. Nothing where the lease has ended, or has less left.
 * @returns what was freed, nano-USD.
 */
export async function shrinkLease(
  database: Database,
  { leaseId, accountId, nanoUsd }: Pick<LeaseRequest, "leaseId" | "accountId"> & { nanoUsd: bigint },
): Promise<bigint> {
  return database.transaction(async (transaction) => {
    await lockAccount(transaction, accountId);
    const shrunk = await transaction.execute(
      `UPDATE credit_lease SET granted_nano_usd = granted_nano_usd - $2
       WHERE lease_id = $1 AND ended_at IS NULL AND granted_nano_usd - $2 >= settled_nano_usd`,
      [leaseId, nanoUsd],
    );
    if (shrunk === 0) return 0n;
    await moveLeased(transaction, accountId, -nanoUsd);
    return nanoUsd;
  });
}

/** Keeps leases in force. @returns those that are: the others have ended. */
export async function renewLeases(
  database: Database,
  leaseIds: readonly string[],
  { ttlMs }: Pick<LeaseRules, "ttlMs">,
): Promise<ReadonlySet<string>> {
  const rows = await database.query({
    text: `UPDATE credit_lease SET expires_at = clock_timestamp() + $2 * interval '1 millisecond'
           WHERE lease_id IN (
             SELECT lease_id FROM credit_lease WHERE lease_id = ANY($1) AND ended_at IS NULL
             ORDER BY account_id, lease_id FOR UPDATE
           ) RETURNING lease_id AS "leaseId"`,
    values: [leaseIds, ttlMs],
    row: z.strictObject({ leaseId: z.string() }),
  });
  return new Set(rows.map(({ leaseId }) => leaseId));
}

/**
 * Ends a lease whose charges are all settled, and frees what it has left.
 * @returns what was freed, nano-USD; 0n for a lease that has ended already.
 */
export async function returnLease(
  database: Database,
  { leaseId, accountId }: Pick<LeaseRequest, "leaseId" | "accountId">,
): Promise<bigint> {
  return database.transaction(async (transaction) => {
    await lockAccount(transaction, accountId);
    return endLeases(transaction, [accountId], { where: "lease_id = $2", value: leaseId, reason: "returned" });
  });
}

/**
 * Ends the leases that a process which is gone has left, once its charges are settled.
 * @returns what was freed, nano-USD.
 */
export async function endLeasesOf(database: Database, holder: string): Promise<bigint> {
  return endWhere(database, { where: "holder = $2", value: holder, reason: "recovered" });
}

/**
 * Ends leases that nobody has renewed until `graceMs` after their time. What their holders still settle is charged to
 * the balance.
 * @returns what was freed, nano-USD.
 */
export async function reapLeases(database: Database, { graceMs }: { graceMs: number }): Promise<bigint> {
  return endWhere(database, {
    where: "expires_at < clock_timestamp() - $2 * interval '1 millisecond'",
    value: graceMs,
    reason: "expired",
  });
}

interface Ending {
  /** On credit_lease, with `$2` for the value. */
  where: string;
  value: unknown;
  reason: "returned" | "expired" | "recovered";
}

/** Finds, locks in order, and looks again: in between a lease may have been renewed, or another have met the condition. */
async function endWhere(database: Database, ending: Ending): Promise<bigint> {
  return database.transaction(async (transaction) => {
    const locked = await transaction.query({
      text: `SELECT account_id AS "accountId" FROM account_balance WHERE account_id IN (
               SELECT account_id FROM credit_lease WHERE ended_at IS NULL AND $1::text[] IS NULL AND ${ending.where}
             ) ORDER BY account_id FOR NO KEY UPDATE`,
      values: [null, ending.value],
      row: z.strictObject({ accountId: z.string() }),
    });
    const accountIds = locked.map(({ accountId }) => accountId);
    return accountIds.length === 0 ? 0n : endLeases(transaction, accountIds, ending);
  });
}

const freedRow = z.strictObject({ accountId: z.string(), freedNanoUsd: z.bigint() });

/** @param accountIds those whose balance rows are locked. */
async function endLeases(
  transaction: Queryable,
  accountIds: readonly string[],
  { where, value, reason }: Ending,
): Promise<bigint> {
  const freed = await transaction.query({
    text: `WITH ended AS (
             UPDATE credit_lease SET ended_at = clock_timestamp(), end_reason = '${reason}'
             WHERE ended_at IS NULL AND account_id = ANY($1::text[]) AND ${where}
             RETURNING account_id, granted_nano_usd - settled_nano_usd AS rest
           )
           SELECT account_id AS "accountId", sum(rest)::bigint AS "freedNanoUsd" FROM ended GROUP BY account_id ORDER BY account_id`,
    values: [accountIds, value],
    row: freedRow,
  });
  for (const { accountId, freedNanoUsd } of freed) await moveLeased(transaction, accountId, -freedNanoUsd);
  return freed.reduce((sum, { freedNanoUsd }) => sum + freedNanoUsd, 0n);
}

async function moveLeased(transaction: Queryable, accountId: string, nanoUsd: bigint): Promise<void> {
  await transaction.execute(
    "UPDATE account_balance SET leased_nano_usd = leased_nano_usd + $2, version = version + 1 WHERE account_id = $1",
    [accountId, nanoUsd],
  );
}

async function lockAccount(transaction: Queryable, accountId: string): Promise<z.infer<typeof accountRow>> {
  const [account] = await transaction.query({
    text: `SELECT posted_nano_usd AS "postedNanoUsd", leased_nano_usd AS "leasedNanoUsd", overdraft_nano_usd AS "overdraftNanoUsd"
           FROM account_balance WHERE account_id = $1 FOR NO KEY UPDATE`,
    values: [accountId],
    row: accountRow,
  });
  if (account === undefined) throw new GatewayError("not_found", `There is no account \`${accountId}\`.`, { field: "accountId" });
  return account;
}

async function readOthers(transaction: Queryable, accountId: string, holder: string): Promise<z.infer<typeof othersRow>> {
  const [others] = await transaction.query({
    text: `SELECT count(DISTINCT holder) AS holders, coalesce(sum(granted_nano_usd - settled_nano_usd), 0)::bigint AS "leasedNanoUsd"
           FROM credit_lease WHERE account_id = $1 AND ended_at IS NULL AND holder <> $2`,
    values: [accountId, holder],
    row: othersRow,
  });
  if (others === undefined) throw new Error("An aggregate returned no row.");
  return others;
}

function smallest(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}

function largest(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}
