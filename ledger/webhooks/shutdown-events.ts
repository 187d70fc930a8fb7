import * as z from "zod";
import type { Database } from "../postgres/database.ts";
import { queueEvent } from "./events.ts";

const USED_WITHIN = "30 days";
/** In a round; the others follow in the next ones. */
const EVENTS_A_ROUND = 100;

const announcedRow = z.strictObject({ accountId: z.string(), model: z.string(), shutdownAt: z.date() });

/** As SQL: served models with a shutdown date in the future. */
const ENDING = `(
    SELECT name, to_timestamp((spec #>> '{deprecation,sunsetSeconds}')::float8) AS shutdown_at FROM model
    WHERE withdrawn_at IS NULL AND spec #>> '{deprecation,sunsetSeconds}' IS NOT NULL
  )`;

/** Announces a model's shutdown to the accounts that used it lately, once for each date, by whichever process sees it first. */
export async function queueShutdownEvents(database: Database): Promise<void> {
  await database.transaction(async (transaction) => {
    const announced = await transaction.query({
      text: `INSERT INTO model_shutdown_event AS notified (account_id, model, shutdown_at)
             SELECT account_id, name, shutdown_at FROM ${ENDING} AS ending CROSS JOIN (
               SELECT DISTINCT account_id FROM webhook_endpoint
               WHERE disabled_at IS NULL AND 'model.shutdown_announced' = ANY (events)
             ) AS wanting
             WHERE shutdown_at > now() AND NOT EXISTS (
               SELECT FROM model_shutdown_event AS earlier WHERE earlier.account_id = wanting.account_id
                 AND earlier.model = name AND earlier.shutdown_at = ending.shutdown_at
             ) AND EXISTS (
               SELECT FROM usage_by_day AS used WHERE used.account_id = wanting.account_id AND used.model = name
                 AND day >= (now() AT TIME ZONE 'UTC' - interval '${USED_WITHIN}')::date
             )
             ORDER BY shutdown_at, account_id LIMIT ${EVENTS_A_ROUND}
             ON CONFLICT (account_id, model) DO UPDATE SET shutdown_at = excluded.shutdown_at
               WHERE notified.shutdown_at <> excluded.shutdown_at
             RETURNING account_id AS "accountId", model, shutdown_at AS "shutdownAt"`,
      row: announcedRow,
    });
    for (const { accountId, model, shutdownAt } of announced) {
      const data = { model, shutdown_at: shutdownAt.toISOString() };
      await queueEvent(transaction, { accountId, type: "model.shutdown_announced", data });
    }
  });
}
