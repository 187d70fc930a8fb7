import { v7 as uuidv7 } from "uuid";
import * as z from "zod";
import type { Database, Queryable } from "../postgres/database.ts";
import { disableEndpoint } from "./endpoints.ts";

/** An event on its way to an endpoint. */
export interface Delivery {
  id: string;
  endpointId: string;
  accountId: string;
  /** The same for every endpoint and attempt: receivers use it to recognize repetitions. */
  eventId: string;
  body: string;
  url: string;
  sealedSecret: Buffer;
  /** Of before a rotation, while it signs too. */
  previousSealedSecret: Buffer | null;
  /** Which attempt this is, from 1. */
  attempts: number;
}

const deliveryRow = z.strictObject({
  id: z.string(),
  endpointId: z.string(),
  accountId: z.string(),
  eventId: z.string(),
  body: z.string(),
  url: z.string(),
  sealedSecret: z.instanceof(Buffer),
  previousSealedSecret: z.instanceof(Buffer).nullable(),
  attempts: z.int(),
});

/** Seconds between attempts: ten of them, over nearly three days. */
const RETRY_AFTER_SECONDS = [60, 300, 900, 3_600, 10_800, 21_600, 43_200, 86_400, 86_400] as const;
export const MAX_ATTEMPTS = RETRY_AFTER_SECONDS.length + 1;
/** After this many attempts, an event no longer holds up later ones: the endpoint may refuse it alone. An index has the number. */
const OVERTAKEN_AFTER = 4;
/** An attempt whose process died is repeated after this. */
const CLAIMED_FOR = "interval '2 minutes'";
/** Those that earlier ones held up for so long are given up. */
const WAITS_FOR = "interval '4 days'";

/** As SQL: the steps to `waiting (endpoint_id)`, the endpoints with waiting events, read without reading their events. */
const WAITING = `waiting AS (
    (SELECT endpoint_id FROM event_delivery WHERE next_attempt_at IS NOT NULL ORDER BY endpoint_id LIMIT 1)
    UNION ALL
    SELECT (SELECT endpoint_id FROM event_delivery
      WHERE next_attempt_at IS NOT NULL AND event_delivery.endpoint_id > waiting.endpoint_id ORDER BY endpoint_id LIMIT 1)
    FROM waiting WHERE endpoint_id IS NOT NULL
  )`;

/** As SQL: the next event of `waiting`, whether or not it is due: its oldest, or one that others may overtake. */
const NEXT = `(
    SELECT * FROM (
      (SELECT id, next_attempt_at FROM event_delivery AS oldest
       WHERE oldest.endpoint_id = waiting.endpoint_id AND next_attempt_at IS NOT NULL AND attempts < ${OVERTAKEN_AFTER}
       ORDER BY id LIMIT 1)
      UNION ALL
      (SELECT id, next_attempt_at FROM event_delivery AS overtaken
       WHERE overtaken.endpoint_id = waiting.endpoint_id AND next_attempt_at IS NOT NULL AND attempts >= ${OVERTAKEN_AFTER}
       ORDER BY next_attempt_at LIMIT 1)
    ) AS candidate ORDER BY next_attempt_at LIMIT 1
  )`;

/**
 * Due events, each given to one of several callers: of an endpoint one at a time, in the order in which they happened, and every
 * account's first before any account's second.
 */
export async function claimDeliveries(
  database: Queryable,
  { limit, busyEndpoints }: { limit: number; busyEndpoints: readonly string[] },
): Promise<Delivery[]> {
  return database.query({
    text: `WITH RECURSIVE ${WAITING}, ranked AS (
             SELECT next.id, row_number() OVER (PARTITION BY account_id ORDER BY next_attempt_at, next.id) AS place
             FROM waiting JOIN webhook_endpoint ON webhook_endpoint.id = endpoint_id CROSS JOIN LATERAL ${NEXT} AS next
             WHERE next_attempt_at <= now() AND disabled_at IS NULL AND endpoint_id <> ALL ($2::uuid[])
           ), due AS (
             SELECT event_delivery.id FROM event_delivery JOIN ranked USING (id) WHERE next_attempt_at <= now()
             ORDER BY place, next_attempt_at LIMIT $1 FOR UPDATE OF event_delivery SKIP LOCKED
           ), claimed AS (
             UPDATE event_delivery SET attempts = attempts + 1, next_attempt_at = now() + ${CLAIMED_FOR}
             FROM due WHERE due.id = event_delivery.id RETURNING event_delivery.*
           )
           SELECT claimed.id, endpoint_id AS "endpointId", account_id AS "accountId", event_id AS "eventId", body, url,
             sealed_secret AS "sealedSecret", attempts::integer,
             CASE WHEN previous_until > now() THEN previous_sealed_secret END AS "previousSealedSecret"
           FROM claimed JOIN webhook_endpoint ON webhook_endpoint.id = endpoint_id`,
    values: [limit, busyEndpoints],
    row: deliveryRow,
  });
}

export async function noteDelivered(database: Queryable, { id, endpointId }: Pick<Delivery, "id" | "endpointId">): Promise<void> {
  await database.execute("UPDATE event_delivery SET delivered_at = now(), next_attempt_at = NULL, problem = NULL WHERE id = $1", [
    id,
  ]);
  await database.execute("UPDATE webhook_endpoint SET accepted_at = now() WHERE id = $1", [endpointId]);
}

/**
 * An event is given up after its last attempt. If its endpoint accepted nothing since it was queued, the endpoint is disabled.
 * @returns "waiting": it is tried again.
 */
export async function noteUndelivered(
  database: Database,
  { id, endpointId, attempts }: Pick<Delivery, "id" | "endpointId" | "attempts">,
  problem: string,
): Promise<"waiting" | "abandoned" | "endpoint disabled"> {
  const seconds = RETRY_AFTER_SECONDS[attempts - 1];
  return database.transaction(async (transaction) => {
    await transaction.execute(
      `UPDATE event_delivery SET problem = $2, next_attempt_at = now() + make_interval(secs => $3)
       WHERE id = $1 AND next_attempt_at IS NOT NULL`,
      [id, problem.slice(0, 300), seconds ?? null],
    );
    if (seconds !== undefined) return "waiting";
    const isDead = await transaction.execute(
      `SELECT FROM webhook_endpoint JOIN event_delivery ON endpoint_id = webhook_endpoint.id
       WHERE event_delivery.id = $1 AND disabled_at IS NULL AND (accepted_at IS NULL OR accepted_at < event_delivery.created_at)`,
      [id],
    );
    if (isDead === 0) return "abandoned";
    await disableEndpoint(transaction, endpointId, "failures");
    return "endpoint disabled";
  });
}

/**
 * Takes over the due events of budgets that an earlier version queued, while it ran next to this one or before the upgrade. Those
 * of an account without an endpoint are dropped.
 */
export async function takeEarlierDeliveries(database: Queryable): Promise<void> {
  await database.execute(
    `WITH due AS (SELECT id FROM webhook_delivery WHERE next_attempt_at <= now() ORDER BY id LIMIT 100 FOR UPDATE SKIP LOCKED),
       taken AS (DELETE FROM webhook_delivery USING due WHERE due.id = webhook_delivery.id RETURNING webhook_delivery.*)
     INSERT INTO event_delivery (id, endpoint_id, event_id, type, body, created_at, attempts, problem)
     SELECT taken.id, webhook_endpoint.id, taken.id, type, body, taken.created_at, attempts, problem
     FROM taken JOIN webhook_endpoint ON webhook_endpoint.id = single_webhook(taken.account_id)`,
  );
}

export interface ListedDelivery {
  id: string;
  eventId: string;
  type: string;
  createdAt: Date;
  attempts: number;
  status: "delivered" | "waiting" | "failed";
  problem: string | null;
  /** null: it is not tried again. */
  nextAttemptAt: Date | null;
}

const STATUS =
  "CASE WHEN delivered_at IS NOT NULL THEN 'delivered' WHEN next_attempt_at IS NOT NULL THEN 'waiting' ELSE 'failed' END";
const LISTED = `id, event_id AS "eventId", type, created_at AS "createdAt", attempts::integer, problem, next_attempt_at AS "nextAttemptAt",
  ${STATUS} AS status`;
const listedRow = z.strictObject({
  id: z.string(),
  eventId: z.string(),
  type: z.string(),
  createdAt: z.date(),
  attempts: z.int(),
  status: z.enum(["delivered", "waiting", "failed"]),
  problem: z.string().nullable(),
  nextAttemptAt: z.date().nullable(),
});

/** An endpoint's newest events. @param beforeId continues after the delivery of this id. */
export async function listDeliveries(
  database: Queryable,
  { endpointId, limit, beforeId }: { endpointId: string; limit: number; beforeId?: string | undefined },
): Promise<ListedDelivery[]> {
  return database.query({
    text: `SELECT ${LISTED} FROM event_delivery WHERE endpoint_id = $1 AND ($2::uuid IS NULL OR id < $2) ORDER BY id DESC LIMIT $3`,
    values: [endpointId, beforeId ?? null, limit],
    row: listedRow,
  });
}

/** One of an endpoint's. */
export async function findDelivery(
  database: Queryable,
  { endpointId, id }: { endpointId: string; id: string },
): Promise<(ListedDelivery & { body: string }) | undefined> {
  if (!z.uuid().safeParse(id).success) return undefined;
  const [found] = await database.query({
    text: `SELECT ${LISTED}, body FROM event_delivery WHERE endpoint_id = $1 AND id = $2`,
    values: [endpointId, id],
    row: listedRow.extend({ body: z.string() }),
  });
  return found;
}

/** Queues an event once more, behind those that wait. Its first delivery stays in the list. @returns the new one's id. */
export async function repeatDelivery(
  transaction: Queryable,
  { endpointId, id }: { endpointId: string; id: string },
): Promise<string> {
  const newId = uuidv7();
  await transaction.execute(
    `INSERT INTO event_delivery (id, endpoint_id, event_id, type, body)
     SELECT $3, endpoint_id, event_id, type, body FROM event_delivery WHERE endpoint_id = $1 AND id = $2`,
    [endpointId, id, newId],
  );
  return newId;
}

/** Abandons events that earlier ones held up for too long. */
export async function expireLateDeliveries(database: Queryable): Promise<void> {
  await database.execute(
    `UPDATE event_delivery SET next_attempt_at = NULL, problem = coalesce(problem, 'Earlier events could not be delivered.')
     WHERE created_at < now() - ${WAITS_FOR} AND next_attempt_at IS NOT NULL AND attempts < ${OVERTAKEN_AFTER}`,
  );
}

const KEPT_FOR = "interval '30 days'";
/** Of each endpoint. */
const KEPT = 10_000;

/** Removes rows that are no longer needed. */
export async function dropOldDeliveries(database: Queryable): Promise<void> {
  await database.execute(`DELETE FROM webhook_delivery WHERE created_at < now() - ${KEPT_FOR}`);
  await database.execute(`DELETE FROM event_delivery WHERE created_at < now() - ${KEPT_FOR}`);
  const full = await database.query({
    text: `SELECT webhook_endpoint.id AS "endpointId", excess.id AS "newestId" FROM webhook_endpoint CROSS JOIN LATERAL (
             SELECT id FROM event_delivery WHERE endpoint_id = webhook_endpoint.id ORDER BY id DESC OFFSET ${KEPT} LIMIT 1
           ) AS excess`,
    row: z.strictObject({ endpointId: z.string(), newestId: z.string() }),
  });
  for (const { endpointId, newestId } of full)
    await database.execute("DELETE FROM event_delivery WHERE endpoint_id = $1 AND id <= $2 AND next_attempt_at IS NULL", [
      endpointId,
      newestId,
    ]);
}
