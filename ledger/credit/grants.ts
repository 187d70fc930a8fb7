import { setTimeout as sleep } from "node:timers/promises";
import { v7 as uuidv7 } from "uuid";
import * as z from "zod";
import { smallest } from "../money.ts";
import type { Database, Queryable } from "../postgres/database.ts";
import { recall } from "../leases/grow-leases.ts";
import { postCreditIn, type PostedCredit } from "./entries.ts";

export interface ExpiringGrant {
  accountId: string;
  amountNanoUsd: bigint;
  /** Unique over all accounts: it is posted once. */
  reference: string;
  expiresAt: Date;
  note?: string;
}

/**
 * Credits an account with an amount that expires. Usage is counted against the grants that expire first, before any other credit.
 * @throws GatewayError as `postCredit`.
 */
export async function postExpiringGrant(database: Database, grant: ExpiringGrant): Promise<PostedCredit> {
  return database.transaction((transaction) => postExpiringGrantIn(transaction, grant));
}

/** Like `postExpiringGrant`, as part of a larger transaction. */
export async function postExpiringGrantIn(transaction: Queryable, grant: ExpiringGrant): Promise<PostedCredit> {
  const { accountId, amountNanoUsd, reference, expiresAt, note } = grant;
  // Earlier usage is not deducted from this grant.
  const usedNanoUsd = await countUsage(transaction, accountId);
  const posted = await postCreditIn(transaction, {
    accountId,
    kind: "grant",
    amountNanoUsd,
    reference,
    note,
  });
  if (posted.isNew)
    await transaction.execute(
      `INSERT INTO expiring_grant (reference, account_id, amount_nano_usd, counted_nano_usd, expires_at) VALUES ($1, $2, $3, $4, $5)`,
      [reference, accountId, amountNanoUsd, usedNanoUsd, expiresAt],
    );
  return posted;
}

/**
 * Deducts the remainder of expired grants, as entries. What running requests have reserved is left to them, and what they leave of
 * it is deducted by a later call: nobody keeps a grant by holding it while it expires.
 * @returns how many were due.
 */
export async function expireGrants(database: Database): Promise<number> {
  const due = await database.query({
    text: `SELECT DISTINCT account_id AS "accountId" FROM expiring_grant WHERE ended_at IS NULL AND expires_at <= now() ORDER BY 1`,
    row: z.strictObject({ accountId: z.string() }),
  });
  let grants = 0;
  for (const { accountId } of due) await recallLeased(database, accountId);
  for (const { accountId } of due) grants += await database.transaction((transaction) => expireGrantsOf(transaction, accountId));
  return grants;
}

const RECALL_FOR_MS = 1_000;
const LOOK_EVERY_MS = 100;

/**
 * Credit reserved by requests stays reserved; the rest of the leased credit is returned within a second, or counts as reserved.
 */
async function recallLeased(database: Database, accountId: string): Promise<void> {
  for (let waitedMs = 0; waitedMs < RECALL_FOR_MS; waitedMs += LOOK_EVERY_MS) {
    const [balance] = await database.query({
      text: `SELECT leased_nano_usd AS "leasedNanoUsd" FROM account_balance WHERE account_id = $1`,
      values: [accountId],
      row: z.strictObject({ leasedNanoUsd: z.bigint() }),
    });
    const leasedNanoUsd = balance?.leasedNanoUsd ?? 0n;
    if (leasedNanoUsd === 0n) return;
    if (waitedMs === 0) await recall(database, accountId, leasedNanoUsd);
    await sleep(LOOK_EVERY_MS);
  }
}

const grantRow = z.strictObject({
  reference: z.string(),
  restNanoUsd: z.bigint(),
  countedNanoUsd: z.bigint(),
  isOver: z.boolean(),
});

const creditRow = z.strictObject({ freeNanoUsd: z.bigint(), heldNanoUsd: z.bigint() });

async function expireGrantsOf(transaction: Queryable, accountId: string): Promise<number> {
  await countUsage(transaction, accountId);
  const over = (await readGrants(transaction, accountId)).filter(({ isOver }) => isOver);
  const [credit] = await transaction.query({
    text: `SELECT greatest(posted_nano_usd + overdraft_nano_usd - leased_nano_usd, 0) AS "freeNanoUsd",
             greatest(least(posted_nano_usd + overdraft_nano_usd, leased_nano_usd), 0) AS "heldNanoUsd"
           FROM account_balance WHERE account_id = $1`,
    values: [accountId],
    row: creditRow,
  });
  let { freeNanoUsd = 0n, heldNanoUsd = 0n } = credit ?? {};
  for (const { reference, restNanoUsd } of over) {
    const takenNanoUsd = smallest(restNanoUsd, freeNanoUsd);
    // No more than what is held now: credit that comes later is no part of the grant.
    const keptNanoUsd = smallest(restNanoUsd - takenNanoUsd, heldNanoUsd);
    freeNanoUsd -= takenNanoUsd;
    heldNanoUsd -= keptNanoUsd;
    if (takenNanoUsd > 0n)
      await postCreditIn(transaction, {
        accountId,
        kind: "expire",
        amountNanoUsd: -takenNanoUsd,
        // Only the last part has the name by itself: the version before this one posts all of the rest under it, after a rollback too.
        reference: keptNanoUsd === 0n ? `expire:${reference}` : `expire:${reference}:${uuidv7()}`,
      });
    if (keptNanoUsd === 0n)
      await transaction.execute("UPDATE expiring_grant SET ended_at = now() WHERE reference = $1", [reference]);
    else
      await transaction.execute("UPDATE expiring_grant SET used_nano_usd = amount_nano_usd - $2 WHERE reference = $1", [
        reference,
        keptNanoUsd,
      ]);
  }
  return over.length;
}

async function readGrants(transaction: Queryable, accountId: string): Promise<z.infer<typeof grantRow>[]> {
  return transaction.query({
    text: `SELECT reference, amount_nano_usd - used_nano_usd AS "restNanoUsd", counted_nano_usd AS "countedNanoUsd",
             expires_at <= now() AS "isOver"
           FROM expiring_grant WHERE account_id = $1 AND ended_at IS NULL ORDER BY expires_at, reference`,
    values: [accountId],
    row: grantRow,
  });
}

/**
 * Deducts usage since the last call from the open grants, the first to expire first. All of an account's open grants
 * are advanced to the same point. The balance row stays locked.
 * @returns the account's total usage: everything credited to it less its balance.
 */
async function countUsage(transaction: Queryable, accountId: string): Promise<bigint> {
  // In a separate statement: its snapshot is then taken after the lock was acquired.
  await transaction.execute("SELECT FROM account_balance WHERE account_id = $1 FOR NO KEY UPDATE", [accountId]);
  const [used] = await transaction.query({
    text: `SELECT (coalesce((SELECT sum(amount_nano_usd) FROM ledger_entry WHERE account_id = $1 AND kind <> 'usage'), 0)
             - posted_nano_usd)::bigint AS "usedNanoUsd" FROM account_balance WHERE account_id = $1`,
    values: [accountId],
    row: z.strictObject({ usedNanoUsd: z.bigint() }),
  });
  const usedNanoUsd = used?.usedNanoUsd ?? 0n;
  const grants = await readGrants(transaction, accountId);
  let restNanoUsd = usedNanoUsd - (grants[0]?.countedNanoUsd ?? usedNanoUsd);
  for (const grant of grants) {
    const takenNanoUsd = smallest(grant.restNanoUsd, restNanoUsd);
    restNanoUsd -= takenNanoUsd;
    await transaction.execute(
      "UPDATE expiring_grant SET used_nano_usd = used_nano_usd + $2, counted_nano_usd = $3 WHERE reference = $1",
      [grant.reference, takenNanoUsd, usedNanoUsd],
    );
  }
  return usedNanoUsd;
}
