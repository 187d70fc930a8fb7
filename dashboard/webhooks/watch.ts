import type { Database } from "../../ledger/postgres/database.ts";
import { expireLateDeliveries } from "../../ledger/webhooks/deliveries.ts";
import { claimFailedEndpoints, returnFailedEndpoint } from "../../ledger/webhooks/endpoint-letters.ts";
import { queueShutdownEvents } from "../../ledger/webhooks/shutdown-events.ts";
import { queueBalanceEvents, queueExpiryEvents } from "../../ledger/webhooks/watched-events.ts";
import type { Logger } from "../../runtime/log.ts";
import { startRounds, type Rounds } from "../../runtime/wait.ts";
import { failedWebhookLetter } from "../mail/failed-webhook-letter.ts";
import { sendToAny, type Mailer } from "../mail/letter.ts";

export interface EventWatchDeps {
  database: Database;
  /** If absent, only the page reports a disabled webhook. */
  mailer: Mailer | undefined;
  publicBaseUrl: string;
  log: Logger;
  everyMs?: number;
}

const EVERY_MS = 60_000;

/** Looks for balances that fall, keys that expire soon and models that end, and writes to owners whose webhook was disabled. */
export function startEventWatch(deps: EventWatchDeps): Rounds {
  const { log, everyMs = EVERY_MS } = deps;
  const onFailure = (error: unknown) => log.warn({ err: error }, "failed to look for webhook events");
  return startRounds(() => watchEvents(deps), { everyMs, onFailure });
}

/** One round of it. */
export async function watchEvents({ database, mailer, publicBaseUrl, log }: Omit<EventWatchDeps, "everyMs">): Promise<void> {
  await queueBalanceEvents(database);
  await queueExpiryEvents(database);
  await queueShutdownEvents(database);
  await expireLateDeliveries(database);
  if (mailer === undefined) return;
  for (const { id, url, accountId, accountName, owners } of await claimFailedEndpoints(database)) {
    const link = `${publicBaseUrl}/dashboard/webhook-endpoints/${id}`;
    const isSent = await sendToAny(
      mailer,
      owners.map((to) => failedWebhookLetter({ to, accountName, url, link })),
      (error) => log.warn({ err: error, account: accountId }, "failed to mail an owner about a disabled webhook"),
    );
    if (!isSent) await returnFailedEndpoint(database, id);
  }
}
