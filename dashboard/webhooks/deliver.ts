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

const EVERY_MS = 2_000;
/** Concurrent deliveries in each process. */
const MAX_SENDING = 32;

/** Sends events to the accounts' webhooks, from whichever replica takes them first. */
export function startDeliveries(deps: DeliverDeps): Rounds {
  const { log, everyMs = EVERY_MS } = deps;
  const onFailure = (error: unknown) => log.warn({ err: error }, "failed to send webhook events");
  const sending = new Map<Promise<void>, Delivery>();

  /** Sends everything that is due and has room: an endpoint that does not answer delays nobody else. */
  async function send(): Promise<void> {
    const room = MAX_SENDING - sending.size;
    if (room === 0) return;
    for (const delivery of await claimDeliveries(deps.database, { limit: room, busyAccounts: busyAccounts() })) {
      const sent = deliver(delivery, deps)
        .catch(onFailure)
        .finally(() => sending.delete(sent));
      sending.set(sent, delivery);
    }
  }

  function busyAccounts(): string[] {
    return [...new Set([...sending.values()].map(({ accountId }) => accountId))];
  }

  const rounds = startRounds(send, { everyMs, onFailure });
  return {
    async stop() {
      await rounds.stop();
      await Promise.all(sending.keys());
    },
  };
}

/** Sends some of the due events, and waits for them. */
export async function deliverEvents(deps: Omit<DeliverDeps, "everyMs">): Promise<void> {
  const due = await claimDeliveries(deps.database, { limit: MAX_SENDING, busyAccounts: [] });
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
    if (isGivenUp) log.warn({ account: accountId, event: id }, "giving up on a webhook event");
  }
}
