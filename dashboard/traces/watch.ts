import type { Database } from "../../ledger/postgres/database.ts";
import { claimFailedDestinations, returnFailedDestination } from "../../ledger/traces/destination-letters.ts";
import { countWaitingRequests } from "../../ledger/traces/waiting-requests.ts";
import type { Logger } from "../../runtime/log.ts";
import { startRounds, type Rounds } from "../../runtime/wait.ts";
import { failedTracesLetter } from "../mail/failed-traces-letter.ts";
import { sendToAny, type Mailer } from "../mail/letter.ts";
import type { TraceEvents } from "./events.ts";

export interface TraceWatchDeps {
  database: Database;
  /** If absent, only the page reports a disabled destination. */
  mailer: Mailer | undefined;
  publicBaseUrl: string;
  events: TraceEvents;
  log: Logger;
  everyMs?: number;
}

const EVERY_MS = 30_000;

/** Counts what waits, and writes to owners whose destination was disabled. */
export function startTraceWatch(deps: TraceWatchDeps): Rounds {
  const { log, everyMs = EVERY_MS } = deps;
  const onFailure = (error: unknown) => log.warn({ err: error }, "failed to look after trace destinations");
  return startRounds(() => watchTraces(deps), { everyMs, onFailure });
}

/** One round of it. */
export async function watchTraces({
  database,
  mailer,
  publicBaseUrl,
  events,
  log,
}: Omit<TraceWatchDeps, "everyMs">): Promise<void> {
  events.waiting(await countWaitingRequests(database));
  if (mailer === undefined) return;
  for (const { id, accountId, owners, ...failed } of await claimFailedDestinations(database)) {
    const link = `${publicBaseUrl}/dashboard/trace-destinations/${id}`;
    const isSent = await sendToAny(
      mailer,
      owners.map((to) => failedTracesLetter({ to, link, ...failed })),
      (error) => log.warn({ err: error, account: accountId }, "failed to mail an owner about a disabled trace destination"),
    );
    if (!isSent) await returnFailedDestination(database, id);
  }
}
