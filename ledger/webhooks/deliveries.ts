import { v7 as uuidv7 } from "uuid";
import * as z from "zod";
import type { Queryable } from "../postgres/database.ts";

/** An event on its way to an account's webhook. */
export interface Delivery {
  /** The same for every attempt: receivers use it to recognize repetitions. */
  id: string;
  accountId: string;
  body: string;
  url: string;
  sealedSecret: Buffer;
  /** Which attempt this is, from 1. */
  attempts: number;
}

const deliveryRow = z.strictObject({
  id: z.string(),
  accountId: z.string(),
  body: z.string(),
  url: z.string(),
  sealedSecret: z.instanceof(Buffer),
  attempts: z.int(),
});

/** Seconds between attempts: seven of them, over about a day and a half. */
const RETRY_AFTER_SECONDS = [60, 300, 1_800, 7_200, 28_800, 86_400] as const;
/** An attempt whose process died is repeated after this. */
const CLAIMED_FOR = "interval '2 minutes'";
const KEPT_FOR = "interval '30 days'";

/** Sends an event to the account's webhook, if it has one. @returns whether it has. */
export async function queueEvent(
  transaction: Queryable,
  { accountId, type, at, data }: { accountId: string; type: string; at: Date; data: Readonly<Record<string, unknown>> },
): Promise<boolean> {
  const body = JSON.stringify({ type, timestamp: at.toISOString(), data });
  const queued = await transaction.execute(
    `INSERT INTO webhook_delivery (id, account_id, type, body) SELECT $1, $2, $3, $4 FROM webhook WHERE account_id = $2`,
    [uuidv7(), accountId, type, body],
  );
  return queued > 0;
}

/** For one account's events, the number sent at once: an unresponsive endpoint does not delay those of others. */
export const MAX_SENDING_OF_ACCOUNT = 2;

/**
 * Due events, each given to one of several callers. Every account's first comes before any account's second.
 * @param busyAccounts get none.
 */
export async function claimDeliveries(
  database: Queryable,
  { limit, busyAccounts }: { limit: number; busyAccounts: readonly string[] },
): Promise<Delivery[]> {
  return database.query({
    text: `WITH ranked AS (
             SELECT id, row_number() OVER (PARTITION BY account_id ORDER BY next_attempt_at, id) AS place
             FROM webhook_delivery WHERE next_attempt_at <= now() AND account_id <> ALL($2)
           ), due AS (
             SELECT webhook_delivery.id FROM webhook_delivery JOIN ranked USING (id)
             WHERE place <= ${MAX_SENDING_OF_ACCOUNT} AND next_attempt_at <= now()
             ORDER BY place, next_attempt_at LIMIT $1 FOR UPDATE OF webhook_delivery SKIP LOCKED
           ), claimed AS (
             UPDATE webhook_delivery SET attempts = attempts + 1, next_attempt_at = now() + ${CLAIMED_FOR}
             FROM due WHERE due.id = webhook_delivery.id RETURNING webhook_delivery.*
           )
           SELECT claimed.id, claimed.account_id AS "accountId", body, url, sealed_secret AS "sealedSecret", attempts::integer
           FROM claimed JOIN webhook ON webhook.account_id = claimed.account_id`,
    values: [limit, busyAccounts],
    row: deliveryRow,
  });
}

export async function noteDelivered(database: Queryable, id: string): Promise<void> {
  await database.execute(
    "UPDATE webhook_delivery SET delivered_at = now(), next_attempt_at = NULL, problem = NULL WHERE id = $1",
    [id],
  );
}

/** @returns whether it was abandoned. */
export async function noteUndelivered(
  database: Queryable,
  { id, attempts }: Pick<Delivery, "id" | "attempts">,
  problem: string,
): Promise<boolean> {
  const seconds = RETRY_AFTER_SECONDS[attempts - 1];
  await database.execute(
    `UPDATE webhook_delivery SET problem = $2, next_attempt_at = now() + make_interval(secs => $3)
     WHERE id = $1 AND next_attempt_at IS NOT NULL`,
    [id, problem.slice(0, 300), seconds ?? null],
  );
  return seconds === undefined;
}

export interface ListedDelivery {
  id: string;
  type: string;
  createdAt: Date;
  attempts: number;
  status: "delivered" | "waiting" | "failed";
  problem: string | null;
}

/** An account's newest events. */
export async function listDeliveries(
  database: Queryable,
  { accountId, limit }: { accountId: string; limit: number },
): Promise<ListedDelivery[]> {
  return database.query({
    text: `SELECT id, type, created_at AS "createdAt", attempts::integer, problem,
             CASE WHEN delivered_at IS NOT NULL THEN 'delivered' WHEN next_attempt_at IS NOT NULL THEN 'waiting' ELSE 'failed' END AS status
           FROM webhook_delivery WHERE account_id = $1 ORDER BY id DESC LIMIT $2`,
    values: [accountId, limit],
    row: z.strictObject({
      id: z.string(),
      type: z.string(),
      createdAt: z.date(),
      attempts: z.int(),
      status: z.enum(["delivered", "waiting", "failed"]),
      problem: z.string().nullable(),
    }),
  });
}

/** Removes rows that are no longer needed. */
export async function dropOldDeliveries(database: Queryable): Promise<void> {
  await database.execute(`DELETE FROM webhook_delivery WHERE created_at < now() - ${KEPT_FOR}`);
}
