import * as z from "zod";
import { IS_MADE_BY_HAND } from "../keys/key-list.ts";
import { formatNanoUsd } from "../money.ts";
import { USUAL_THRESHOLD_NANO_USD } from "../payments/balance-alerts.ts";
import type { Database, Queryable } from "../postgres/database.ts";
import type { EventType } from "./event-types.ts";
import { queueEvent } from "./events.ts";

/** Events that nobody's action causes: they are looked for now and then, by whichever process does it first. */

const BALANCE_EVENTS = ["credit.balance_low", "credit.balance_exhausted"] as const satisfies readonly EventType[];

/** As SQL: the accounts with an endpoint that wants one of these events. */
const WANTING = "SELECT account_id FROM webhook_endpoint WHERE disabled_at IS NULL AND events && $1::text[]";

/** As SQL: the balances of these accounts, and what is to be told about them; $2 is the usual threshold. */
const LEVELS = `(
    SELECT account_id, posted_nano_usd AS posted, threshold, coalesce(posted_nano_usd < threshold, false) AS is_low,
      posted_nano_usd <= 0 AS is_exhausted
    FROM account_balance LEFT JOIN balance_alert USING (account_id)
    CROSS JOIN LATERAL (SELECT CASE WHEN balance_alert.account_id IS NULL THEN $2::bigint ELSE threshold_nano_usd END AS threshold) AS chosen
    WHERE account_id IN (${WANTING})
  )`;

interface ChangedBalance {
  accountId: string;
  postedNanoUsd: bigint;
  /** null: the account has turned the alert off. */
  thresholdNanoUsd: bigint | null;
  isLow: boolean;
  wasLow: boolean;
  isExhausted: boolean;
  wasExhausted: boolean;
}

const changedRow = z.strictObject({
  accountId: z.string(),
  postedNanoUsd: z.bigint(),
  thresholdNanoUsd: z.bigint().nullable(),
  isLow: z.boolean(),
  wasLow: z.boolean(),
  isExhausted: z.boolean(),
  wasExhausted: z.boolean(),
});

/**
 * Tells once for each fall that a balance is below the account's alert threshold, or has reached zero. An account whose endpoint is
 * new is told of the next fall.
 */
export async function queueBalanceEvents(database: Database): Promise<void> {
  const values = [BALANCE_EVENTS, USUAL_THRESHOLD_NANO_USD];
  await database.execute(
    `INSERT INTO balance_event (account_id, is_low, is_exhausted)
     SELECT account_id, is_low, is_exhausted FROM ${LEVELS} AS level ON CONFLICT DO NOTHING`,
    values,
  );
  await database.transaction(async (transaction) => {
    const changed = await transaction.query({
      text: `WITH changed AS (
               SELECT level.*, was.is_low AS was_low, was.is_exhausted AS was_exhausted
               FROM balance_event AS was JOIN ${LEVELS} AS level USING (account_id)
               WHERE (was.is_low, was.is_exhausted) IS DISTINCT FROM (level.is_low, level.is_exhausted) FOR UPDATE OF was
             ), noted AS (
               UPDATE balance_event SET is_low = changed.is_low, is_exhausted = changed.is_exhausted
               FROM changed WHERE changed.account_id = balance_event.account_id
             )
             SELECT account_id AS "accountId", posted AS "postedNanoUsd", threshold AS "thresholdNanoUsd",
               is_low AS "isLow", was_low AS "wasLow", is_exhausted AS "isExhausted", was_exhausted AS "wasExhausted" FROM changed`,
      values,
      row: changedRow,
    });
    for (const each of changed) await queueFall(transaction, each);
  });
}

async function queueFall(transaction: Queryable, changed: ChangedBalance): Promise<void> {
  const { accountId, postedNanoUsd, thresholdNanoUsd, isLow, wasLow, isExhausted, wasExhausted } = changed;
  const balance = { currency: "USD", balance: formatNanoUsd(postedNanoUsd) };
  if (isLow && !wasLow && thresholdNanoUsd !== null) {
    const data = { ...balance, threshold: formatNanoUsd(thresholdNanoUsd) };
    await queueEvent(transaction, { accountId, type: "credit.balance_low", data });
  }
  if (isExhausted && !wasExhausted) await queueEvent(transaction, { accountId, type: "credit.balance_exhausted", data: balance });
}

const EXPIRES_SOON = ["key.expires_soon"] as const satisfies readonly EventType[];
const NOTICE = "interval '7 days'";
/** In a round; the others follow in the next ones. */
const KEYS_A_ROUND = 100;

const expiringRow = z.strictObject({ accountId: z.string(), keyId: z.string(), name: z.string(), expiresAt: z.date() });

/** Tells a week before that a key expires, once for each date. Keys that were created for a shorter time are left out. */
export async function queueExpiryEvents(database: Database): Promise<void> {
  await database.transaction(async (transaction) => {
    const keys = await transaction.query({
      text: `WITH noted AS (
               INSERT INTO key_expiry_event AS told (key_id, expires_at)
               SELECT public_id, expires_at FROM api_key
               WHERE account_id IN (${WANTING}) AND revoked_at IS NULL AND disabled_at IS NULL AND ${IS_MADE_BY_HAND}
                 AND expires_at > now() AND expires_at <= now() + ${NOTICE} AND created_at < expires_at - ${NOTICE}
                 AND NOT EXISTS (SELECT FROM key_expiry_event AS before
                   WHERE before.key_id = public_id AND before.expires_at = api_key.expires_at)
               ORDER BY expires_at LIMIT ${KEYS_A_ROUND}
               ON CONFLICT (key_id) DO UPDATE SET expires_at = excluded.expires_at WHERE told.expires_at <> excluded.expires_at
               RETURNING key_id
             )
             SELECT account_id AS "accountId", public_id AS "keyId", name, expires_at AS "expiresAt"
             FROM api_key JOIN noted ON key_id = public_id`,
      values: [EXPIRES_SOON],
      row: expiringRow,
    });
    for (const { accountId, keyId, name, expiresAt } of keys) {
      const data = { key_id: keyId, key_name: name, expires_at: expiresAt.toISOString() };
      await queueEvent(transaction, { accountId, type: "key.expires_soon", data });
    }
  });
}
