import { deliverEvents } from "../../../dashboard/webhooks/deliver.ts";
import { watchEvents } from "../../../dashboard/webhooks/watch.ts";
import type { Letter } from "../../../dashboard/mail/letter.ts";
import { addMember } from "../../../ledger/people/members.ts";
import type { Database } from "../../../ledger/postgres/database.ts";
import { addEndpoint } from "../../../ledger/webhooks/endpoints.ts";
import { EVENT_TYPES, type EventType } from "../../../ledger/webhooks/event-types.ts";
import { queueEvent } from "../../../ledger/webhooks/events.ts";
import { openDashboard } from "../../support/dashboard/dashboard.ts";
import { PEPPER, seedLedger } from "../../support/billing/ledger.ts";
import { captureLog } from "../../support/stacks/log.ts";
import type { Receiver } from "../../support/servers/webhook-receiver.ts";

export const BASE = "http://gateway.example";

/** An account of Ann's. */
export async function openWebhooks(database: Database) {
  const customer = await seedLedger(database);
  const { accountId } = customer;
  const dashboard = await openDashboard(database, { targetNetworks: "any" });
  const [ann, ben] = [await dashboard.owner("ann@example.com"), await dashboard.owner("ben@example.com")];
  await addMember(database, { accountId, personId: ann.personId, role: "owner" });
  const owner = await dashboard.signIn(ann.personId, accountId);
  const letters: Letter[] = [];
  const { log, lines } = captureLog();
  const mailer = { outbox: null, send: async (letter: Letter) => void letters.push(letter) };
  const watch = () => watchEvents({ database, publicBaseUrl: BASE, log, mailer });
  const deliver = (targetNetworks: "public" | "any" = "any") => deliverEvents({ database, pepper: PEPPER, targetNetworks, log });
  const { call } = await dashboard.program(accountId, ann.personId, "owner");
  const add = (url: string, events: readonly EventType[] = EVENT_TYPES, of = accountId) =>
    addEndpoint(database, { accountId: of, url, events, pepper: PEPPER });
  const queue = (type: EventType, of = accountId) => queueEvent(database, { accountId: of, type, data: {} });
  // With an account of his own.
  const other = ben;
  return { ...dashboard, ...customer, database, owner, other, letters, lines, watch, deliver, call, add, queue };
}

export const typesOf = ({ received }: Receiver) => received.map(({ body }): unknown => JSON.parse(body).type);
export const dataOf = ({ received }: Receiver) => received.map(({ body }): unknown => JSON.parse(body).data);

/** As if the time of the next attempt had come. */
export async function letTimePass(database: Database): Promise<void> {
  await database.execute("UPDATE event_delivery SET next_attempt_at = now() WHERE next_attempt_at IS NOT NULL");
}
