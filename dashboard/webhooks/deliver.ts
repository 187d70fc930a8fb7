import {
  claimDeliveries,
  noteDelivered,
  noteUndelivered,
  takeEarlierDeliveries,
  type Delivery,
} from "../../ledger/webhooks/deliveries.ts";
import { openSecret } from "../../ledger/webhooks/endpoints.ts";
import type { Database } from "../../ledger/postgres/database.ts";
import type { Logger } from "../../runtime/log.ts";
import { startRounds, type Rounds } from "../../runtime/wait.ts";
import type { TargetNetworks } from "../outbound/networks.ts";
import { startSending } from "../outbound/sending.ts";
import { sendEvent } from "./send.ts";

export interface DeliverDeps {
  database: Database;
  pepper: Buffer;
  targetNetworks: TargetNetworks;
  log: Logger;
  everyMs?: number;
}

const EVERY_MS = 2_000;
/** Concurrent deliveries in each process. */
const MAX_SENDING = 32;

/** Sends events to the accounts' webhooks, from whichever replica takes them first. */
export function startDeliveries(deps: DeliverDeps): Rounds {
  const { database, log, everyMs = EVERY_MS } = deps;
  const onFailure = (error: unknown) => log.warn({ err: error }, "failed to send webhook events");
  const sending = startSending<Delivery>({
    max: MAX_SENDING,
    claim: (limit, inFlight) => claimDeliveries(database, { limit, busyEndpoints: inFlight.map(({ endpointId }) => endpointId) }),
    send: (delivery) => deliver(delivery, deps),
    onFailure,
  });

  async function round(): Promise<void> {
    await takeEarlierDeliveries(database);
    await sending.sendDue();
  }

  const rounds = startRounds(round, { everyMs, onFailure });
  return {
    async stop() {
      await Promise.all([rounds.stop(), sending.stop()]);
    },
  };
}

/** Sends what is due until nothing is, and waits for it. */
export async function deliverEvents(deps: Omit<DeliverDeps, "everyMs">): Promise<void> {
  await takeEarlierDeliveries(deps.database);
  for (;;) {
    const due = await claimDeliveries(deps.database, { limit: MAX_SENDING, busyEndpoints: [] });
    if (due.length === 0) return;
    await Promise.all(due.map((delivery) => deliver(delivery, deps)));
  }
}

/** @returns whether the endpoint accepted it. */
async function deliver(delivery: Delivery, { database, pepper, targetNetworks, log }: DeliverDeps): Promise<boolean> {
  const { eventId, accountId, url, body, sealedSecret, previousSealedSecret } = delivery;
  try {
    const key = openSecret(sealedSecret, { accountId, pepper });
    if (key === undefined) throw new Error("The signing secret cannot be read. Rotate it.");
    const previous = previousSealedSecret === null ? undefined : openSecret(previousSealedSecret, { accountId, pepper });
    const keys = previous === undefined ? [key] : [key, previous];
    await sendEvent({ id: eventId, url, body, keys, at: new Date() }, { networks: targetNetworks });
    await noteDelivered(database, delivery);
    return true;
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    const outcome = await noteUndelivered(database, delivery, problem);
    if (outcome !== "waiting") log.warn({ account: accountId, event: eventId, outcome }, "giving up on a webhook event");
    return false;
  }
}
