import { v7 as uuidv7 } from "uuid";
import * as z from "zod";
import { ACCOUNT_BOUNDS } from "../../contract/account-bounds.ts";
import type { Queryable } from "../postgres/database.ts";
import { TEST_EVENT, type EventType } from "./event-types.ts";

/** Of the form of `data`: it rises with a change that a program cannot ignore. */
const VERSION = 1;

export type EventData = Readonly<Record<string, string | number | boolean | null>>;

export interface NewEvent {
  accountId: string;
  type: EventType;
  /** Small, and without secrets. The account's id is added. */
  data: EventData;
}

/**
 * Queues an event for each of the account's endpoints that wants it. Call it in the transaction of what it tells: both are stored,
 * or neither.
 */
export async function queueEvent(transaction: Queryable, { accountId, type, data }: NewEvent): Promise<void> {
  const endpoints = await transaction.query({
    text: "SELECT id FROM webhook_endpoint WHERE account_id = $1 AND disabled_at IS NULL AND $2 = ANY (events)",
    values: [accountId, type],
    row: z.strictObject({ id: z.string() }),
  });
  const [eventId, body] = [uuidv7(), bodyOf({ accountId, type, data })];
  for (const { id } of endpoints) await queueDelivery(transaction, { endpointId: id, eventId, type, body });
}

/** Queues a test event for one endpoint. */
export async function queueTestEvent(
  transaction: Queryable,
  { accountId, endpointId }: { accountId: string; endpointId: string },
): Promise<void> {
  const type = TEST_EVENT;
  await queueDelivery(transaction, { endpointId, eventId: uuidv7(), type, body: bodyOf({ accountId, type, data: {} }) });
}

function bodyOf({ accountId, type, data }: Omit<NewEvent, "type"> & { type: string }): string {
  const timestamp = new Date().toISOString();
  return JSON.stringify({ type, version: VERSION, timestamp, data: { account_id: accountId, ...data } });
}

/** Beyond a number of waiting events, further ones are left out, and the endpoint's page says so. */
async function queueDelivery(
  transaction: Queryable,
  { endpointId, eventId, type, body }: { endpointId: string; eventId: string; type: string; body: string },
): Promise<void> {
  const queued = await transaction.execute(
    `INSERT INTO event_delivery (id, endpoint_id, event_id, type, body) SELECT $1, $2, $3, $4, $5
     WHERE (SELECT count(*) FROM (
       SELECT FROM event_delivery WHERE endpoint_id = $2 AND next_attempt_at IS NOT NULL LIMIT $6
     ) AS waiting) < $6`,
    [uuidv7(), endpointId, eventId, type, body, ACCOUNT_BOUNDS.waitingEvents],
  );
  if (queued === 0) await transaction.execute("UPDATE webhook_endpoint SET dropped_at = now() WHERE id = $1", [endpointId]);
}
