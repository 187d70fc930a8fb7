import * as z from "zod";
import { GatewayError } from "../../contract/errors.ts";
import type { Database, Queryable } from "../postgres/database.ts";
import { boundWaiting, type Waiting } from "./held.ts";
import type { LeaseRequest, LeaseRules } from "./lease.ts";

/**
 * Leases: parts of an account's credit that single processes spend without asking (S30). Everything here that moves credit locks
 * the account's balance row first and the lease after it, as settling does.
 */

/**
 * As SQL, for statements that name leases. The same as `ended_at IS NULL`, with which they would read all open leases through an
 * index that the planner may believe to be nearly empty.
 */
export const IS_OPEN = "end_reason IS NULL";

/** A part of an open lease that its holder has given up. */
export interface LeasePart extends Pick<LeaseRequest, "leaseId" | "accountId"> {
  nanoUsd: bigint;
}

export interface FreeOptions extends Waiting {
  /** Leaves accounts whose balances others hold as they are, instead of waiting for them. */
  leavesHeld?: boolean;
}

export interface Freed {
  nanoUsd: bigint;
  /** Accounts of which nothing has changed. */
  heldIds: ReadonlySet<string>;
}

/**
 * Takes back parts of open leases. No effect on a lease that has ended, or has less left.
 */
export async function shrinkLeases(database: Database, parts: readonly LeasePart[], options: FreeOptions = {}): Promise<Freed> {
  return database.transaction(async (transaction) => {
    const { accountIds, heldIds } = await lockAccounts(transaction, parts, options);
    if (accountIds.length === 0) return { nanoUsd: 0n, heldIds };
    const [row] = await transaction.query({
      name: "lease-shrink",
      text: `WITH part AS (
               SELECT lease_id, sum(nano_usd)::bigint AS nano_usd
               FROM unnest($1::uuid[], $2::bigint[]) AS part (lease_id, nano_usd) GROUP BY lease_id
             ), shrunk AS (
               UPDATE credit_lease SET granted_nano_usd = granted_nano_usd - nano_usd
               FROM part
               WHERE credit_lease.lease_id = part.lease_id AND ${IS_OPEN} AND account_id = ANY($3::text[])
                 AND granted_nano_usd - nano_usd >= settled_nano_usd
               RETURNING account_id, nano_usd
             ), freed AS (
               SELECT account_id, sum(nano_usd)::bigint AS nano_usd FROM shrunk GROUP BY account_id
             ), moved AS (
               UPDATE account_balance SET leased_nano_usd = leased_nano_usd - nano_usd, version = version + 1
               FROM freed WHERE account_balance.account_id = freed.account_id
             )
             SELECT coalesce(sum(nano_usd), 0)::bigint AS "freedNanoUsd" FROM freed`,
      values: [parts.map(({ leaseId }) => leaseId), parts.map(({ nanoUsd }) => nanoUsd), accountIds],
      row: freedRow,
    });
    return { nanoUsd: row?.freedNanoUsd ?? 0n, heldIds };
  });
}

/** What a renewal finds of a lease that is in force: `held` if another transaction has its row, so that it is as it was. */
export type Renewal = "renewed" | "held";

/** Renews leases, and waits for no one. @returns those in force: the others have ended. */
export async function renewLeases(
  database: Database,
  leaseIds: readonly string[],
  { ttlMs }: Pick<LeaseRules, "ttlMs">,
): Promise<ReadonlyMap<string, Renewal>> {
  const rows = await database.query({
    name: "lease-renew",
    // Without a join of the two: the planner knows nothing of their sizes, and compares each lease with all others.
    text: `WITH renewed AS (
             UPDATE credit_lease SET expires_at = clock_timestamp() + $2 * interval '1 millisecond'
             WHERE lease_id IN (
               SELECT lease_id FROM credit_lease WHERE lease_id = ANY($1) AND ${IS_OPEN}
               ORDER BY account_id, lease_id FOR UPDATE SKIP LOCKED
             ) RETURNING lease_id
           )
           SELECT lease_id AS "leaseId", 'renewed' AS renewal FROM renewed
           UNION ALL
           SELECT lease_id, 'held' FROM credit_lease
           WHERE lease_id = ANY($1) AND ${IS_OPEN} AND lease_id NOT IN (SELECT lease_id FROM renewed)`,
    values: [leaseIds, ttlMs],
    row: renewalRow,
  });
  return new Map(rows.map(({ leaseId, renewal }) => [leaseId, renewal]));
}

const renewalRow = z.strictObject({ leaseId: z.string(), renewal: z.enum(["held", "renewed"]) });

/**
 * Nothing was returned, for certain: the database was unavailable, or stopped before the commit. The leases are still in force.
 */
export class LeasesKeptError extends Error {
  override name = "LeasesKeptError";
  constructor(cause: unknown) {
    super("The leases could not be returned.", { cause });
  }
}

/**
 * Ends leases whose charges are all settled, and frees their remainder; leases that have already ended are unchanged.
 * @throws LeasesKeptError if nothing has changed; after any other error the outcome is unknown.
 */
export async function returnLeases(
  database: Database,
  leases: readonly Pick<LeaseRequest, "leaseId" | "accountId">[],
  options: FreeOptions = {},
): Promise<Freed> {
  let isCommitting = false;
  const ending = {
    name: "lease-return",
    where: "lease_id = ANY($2::uuid[])",
    value: leases.map(({ leaseId }) => leaseId),
    reason: "returned",
  } as const;
  try {
    return await database.transaction(async (transaction) => {
      isCommitting = false;
      const { accountIds, heldIds } = await lockAccounts(transaction, leases, options);
      const nanoUsd = accountIds.length === 0 ? 0n : await endLeases(transaction, accountIds, ending);
      isCommitting = true;
      return { nanoUsd, heldIds };
    });
  } catch (error) {
    throw isCommitting ? error : new LeasesKeptError(error);
  }
}

/**
 * Ends the leases of a process that no longer exists, once its charges are settled.
 * @returns the freed amount, nano-USD.
 */
export async function endLeasesOf(database: Database, holder: string): Promise<bigint> {
  return endWhere(database, { name: "lease-end-of-holder", where: "holder = $2", value: holder, reason: "recovered" });
}

/**
 * Ends leases whose deadline was before `before`, by Postgres' clock. Charges that their holders settle later are charged to the
 * balance.
 * @returns the freed amount, nano-USD.
 */
export async function reapLeases(database: Database, { before }: { before: Date }): Promise<bigint> {
  return endWhere(database, { leavesHeld: true, name: "lease-reap", where: "expires_at < $2", value: before, reason: "expired" });
}

interface Ending {
  /** Of the statement. */
  name: string;
  /** On credit_lease, with `$2` for the value. */
  where: string;
  value: unknown;
  reason: "returned" | "expired" | "recovered";
  /** Those that others hold, or whose account's balance others hold, are left for the next time. */
  leavesHeld?: boolean;
}

/** Finds, locks in order, and checks again: in between, a lease may have been renewed, or another have met the condition. */
async function endWhere(database: Database, ending: Ending): Promise<bigint> {
  return database.transaction(async (transaction) => {
    const locked = await transaction.query({
      text: `SELECT account_id AS "accountId" FROM account_balance WHERE account_id IN (
               SELECT account_id FROM credit_lease WHERE ended_at IS NULL AND $1::text[] IS NULL AND ${ending.where}
             ) ORDER BY account_id FOR NO KEY UPDATE ${ending.leavesHeld === true ? "SKIP LOCKED" : ""}`,
      values: [null, ending.value],
      row: z.strictObject({ accountId: z.string() }),
    });
    const accountIds = locked.map(({ accountId }) => accountId);
    return accountIds.length === 0 ? 0n : endLeases(transaction, accountIds, ending);
  });
}

const freedRow = z.strictObject({ freedNanoUsd: z.bigint() });

/** @param accountIds those whose balance rows are locked. */
async function endLeases(
  transaction: Queryable,
  accountIds: readonly string[],
  { name, where, value, reason, leavesHeld }: Ending,
): Promise<bigint> {
  const chosen = `ended_at IS NULL AND account_id = ANY($1::text[]) AND ${where}`;
  const [row] = await transaction.query({
    name,
    text: `WITH ended AS (
             UPDATE credit_lease SET ended_at = clock_timestamp(), end_reason = '${reason}'
             WHERE ${leavesHeld === true ? `lease_id IN (SELECT lease_id FROM credit_lease WHERE ${chosen} FOR UPDATE SKIP LOCKED)` : chosen}
             RETURNING account_id, granted_nano_usd - settled_nano_usd AS rest
           ), freed AS (
             SELECT account_id, sum(rest)::bigint AS nano_usd FROM ended GROUP BY account_id
           ), moved AS (
             UPDATE account_balance SET leased_nano_usd = leased_nano_usd - nano_usd, version = version + 1
             FROM freed WHERE account_balance.account_id = freed.account_id
           )
           SELECT coalesce(sum(nano_usd), 0)::bigint AS "freedNanoUsd" FROM freed`,
    values: [accountIds, value],
    row: freedRow,
  });
  return row?.freedNanoUsd ?? 0n;
}

/**
 * What follows commits without waiting for the disk, which is a fifth of what it costs: credit that is given up stays leased where a
 * crash of Postgres loses that, until the lease is reaped. Whoever leases it meanwhile waits for the disk, and so for this as well.
 */
const LOCK_TEXT = `SELECT account_id AS "accountId" FROM account_balance
  WHERE account_id = ANY($1::text[]) AND (SELECT set_config('synchronous_commit', 'off', true)) = 'off'
  ORDER BY account_id FOR NO KEY UPDATE`;
const LOCK = { name: "lease-lock", text: LOCK_TEXT };
const LOCK_FREE = { name: "lease-lock-free", text: `${LOCK_TEXT} SKIP LOCKED` };

/**
 * In order, as settling does.
 * @returns those that are locked, and the others.
 * @throws GatewayError `not_found` for an account that does not exist, unless it leaves held ones.
 */
async function lockAccounts(
  transaction: Queryable,
  leases: readonly Pick<LeaseRequest, "accountId">[],
  { leavesHeld = false, ...waiting }: FreeOptions,
): Promise<{ accountIds: string[]; heldIds: ReadonlySet<string> }> {
  const wanted = new Set(leases.map(({ accountId }) => accountId));
  if (!leavesHeld) await boundWaiting(transaction, waiting);
  const rows = await transaction.query({
    ...(leavesHeld ? LOCK_FREE : LOCK),
    values: [[...wanted]],
    row: z.strictObject({ accountId: z.string() }),
  });
  const accountIds = rows.map(({ accountId }) => accountId);
  const heldIds = new Set(wanted);
  for (const accountId of accountIds) heldIds.delete(accountId);
  if (heldIds.size === 0 || leavesHeld) return { accountIds, heldIds };
  throw new GatewayError("not_found", `There is no account \`${[...heldIds].join("` or `")}\`.`, { field: "accountId" });
}
