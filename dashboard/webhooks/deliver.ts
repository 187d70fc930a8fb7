import { claimDeliveries, noteDelivered, noteUndelivered, type Delivery } from "../../ledger/webhooks/deliveries.ts";
import { openSecret } from "../../ledger/webhooks/webhooks.ts";
import type { Database } from "../../ledger/postgres/database.ts";
import type { Logger } from "../../runtime/log.ts";
import { startRounds, type Rounds } from "../../runtime/wait.ts";
import type { WebhookNetworks } from "./networks.ts";
import { sendEvent } from "./send.ts";

export interface DeliverDeps {
  database: Database;
  pepper: Buffer;
  webhookNetworks: WebhookNetworks;
  log: Logger;
  everyMs?: number;
}

const EVERY_MS = 5_000;
/** At once; an endpoint that does not answer keeps no others waiting for longer than its time-out. */
const PORTION = 8;

/** Sends events to the webhooks of accounts, whichever replica takes them first. */
export function startDeliveries(deps: DeliverDeps): Rounds {
  const { log, everyMs = EVERY_MS } = deps;
  const onFailure = (error: unknown) => log.warn({ err: error }, "webhook events could not be sent");
  return startRounds(() => deliverEvents(deps), { everyMs, onFailure });
}

/** One round of it: everything that is due, a portion at a time. */
export async function deliverEvents(deps: Omit<DeliverDeps, "everyMs">): Promise<void> {
  const due = await claimDeliveries(deps.database, PORTION);
  await Promise.all(due.map((delivery) => deliver(delivery, deps)));
}

async function deliver(delivery: Delivery, { database, pepper, webhookNetworks, log }: DeliverDeps): Promise<void> {
  const { id, accountId, url, body, sealedSecret } = delivery;
  try {
    const key = openSecret(sealedSecret, { accountId, pepper });
    if (key === undefined) throw new Error("The signing secret cannot be read. Save the webhook again.");
    await sendEvent({ id, url, body, key, at: new Date() }, { networks: webhookNetworks });
    await noteDelivered(database, id);
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    const isGivenUp = await noteUndelivered(database, delivery, problem);
    if (isGivenUp) log.warn({ account: accountId, event: id }, "a webhook event was given up");
  }
}
