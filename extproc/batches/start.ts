import { createBatchContent } from "../../ledger/batches/content.ts";
import type { Tickets } from "../../ledger/batches/ticket.ts";
import { createDatabase } from "../../ledger/postgres/database.ts";
import type { Logger } from "../../runtime/log.ts";
import { relayTarget } from "../early-answers/relay.ts";
import { startBatchRunner } from "./runner.ts";

export interface BatchesConfig {
  databaseUrl: string;
  pepper: Buffer;
  /** Where Envoy accepts the requests of batches: `host:port` or `unix:/path`. */
  address: string;
  tickets: Tickets;
  /** How long requests may take to finish at a stop. */
  drainMs: number;
  log: Logger;
}

const MAX_CONNECTIONS = 4;

/** Sends the requests of batches, over database connections that nothing else uses. */
export function startBatches({ databaseUrl, pepper, address, tickets, drainMs, log }: BatchesConfig): { stop(): Promise<void> } {
  const database = createDatabase({
    url: databaseUrl,
    applicationName: "extproc batches",
    maxConnections: MAX_CONNECTIONS,
    log,
  });
  const runner = startBatchRunner({
    database,
    content: createBatchContent(pepper),
    tickets,
    target: relayTarget(address),
    log,
  });
  return {
    async stop() {
      await runner.stop(drainMs);
      await database.close();
    },
  };
}
