import { createBatchContent } from "../../ledger/batches/content.ts";
import { endOverdue } from "../../ledger/batches/ending.ts";
import { dropExpiredBatches } from "../../ledger/batches/upkeep.ts";
import type { Database } from "../../ledger/postgres/database.ts";
import type { Logger } from "../../runtime/log.ts";
import { startRounds, type Rounds } from "../../runtime/wait.ts";
import { endOne } from "./end.ts";
import { prepareOne } from "./prepare.ts";

const EVERY_MS = 1_000;
const DROPS_EVERY_MS = 60_000;

/** What happens to batches besides sending their requests: their files are read, they end, and what is old is deleted. */
export function startBatchWatch({ database, pepper, log }: { database: Database; pepper: Buffer; log: Logger }): Rounds {
  const content = createBatchContent(pepper);
  const rounds = startRounds(
    async () => {
      let isBusy;
      do {
        await endOverdue(database);
        // In turn: an account that keeps creating batches must not keep those of others from ending.
        const hasPrepared = await prepareOne({ database, content });
        const hasEnded = await endOne({ database, content });
        isBusy = hasPrepared || hasEnded;
      } while (isBusy);
    },
    { everyMs: EVERY_MS, onFailure: (error) => log.warn({ err: error }, "failed to work on batches; retrying") },
  );
  const drops = startRounds(() => dropExpiredBatches(database), {
    everyMs: DROPS_EVERY_MS,
    onFailure: (error) => log.warn({ err: error }, "failed to delete expired batches; retrying"),
  });
  return { stop: async () => void (await Promise.all([rounds.stop(), drops.stop()])) };
}
