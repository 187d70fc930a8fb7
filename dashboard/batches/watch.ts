import { createBatchContent } from "../../ledger/batches/content.ts";
import { endOverdue } from "../../ledger/batches/ending.ts";
import { readBatchFigures } from "../../ledger/batches/figures.ts";
import { dropExpiredBatches } from "../../ledger/batches/upkeep.ts";
import type { Database } from "../../ledger/postgres/database.ts";
import { MONOTONIC } from "../../runtime/clock.ts";
import type { Logger } from "../../runtime/log.ts";
import { startRounds, type Rounds } from "../../runtime/wait.ts";
import { endOne } from "./end.ts";
import type { BatchMetrics } from "./metrics.ts";
import { prepareOne } from "./prepare.ts";

const EVERY_MS = 1_000;
const DROPS_EVERY_MS = 60_000;
const FIGURES_EVERY_MS = 15_000;

export interface BatchWatchDeps {
  database: Database;
  pepper: Buffer;
  log: Logger;
  metrics: BatchMetrics;
}

/** What happens to batches besides sending their requests: their files are read, they end, and what is old is deleted. */
export function startBatchWatch({ database, pepper, log, metrics }: BatchWatchDeps): Rounds {
  const content = createBatchContent(pepper);
  let overdueMs = -Infinity;
  const rounds = startRounds(
    async () => {
      let isBusy;
      do {
        // It looks at every batch that runs.
        if (MONOTONIC.nowMs() - overdueMs >= EVERY_MS) {
          await endOverdue(database);
          overdueMs = MONOTONIC.nowMs();
        }
        // In turn: an account that keeps creating batches must not keep those of others from ending.
        const prepared = await prepareOne({ database, content });
        if (prepared === "failed") metrics.ended(prepared);
        const ended = await endOne({ database, content });
        if (ended !== undefined) metrics.ended(ended);
        isBusy = prepared !== undefined || ended !== undefined;
      } while (isBusy);
    },
    { everyMs: EVERY_MS, onFailure: (error) => log.warn({ err: error }, "failed to work on batches; retrying") },
  );
  const drops = startRounds(() => dropExpiredBatches(database), {
    everyMs: DROPS_EVERY_MS,
    onFailure: (error) => log.warn({ err: error }, "failed to delete expired batches; retrying"),
  });
  const figures = startRounds(async () => metrics.show(await readBatchFigures(database)), {
    everyMs: FIGURES_EVERY_MS,
    onFailure: (error) => log.warn({ err: error }, "failed to count batches; retrying"),
  });
  return { stop: async () => void (await Promise.all([rounds.stop(), drops.stop(), figures.stop()])) };
}
