import type { Database } from "../ledger/postgres/database.ts";
import { addUpModelHours } from "../ledger/usage/model-hours.ts";
import { addUpPerformance } from "../ledger/usage/performance.ts";
import type { Logger } from "../runtime/log.ts";
import { startRounds, type Rounds } from "../runtime/wait.ts";

const EVERY_MS = 60_000;

/** Adds up the models' results by hour, for the pages that show them. */
export function startModelHoursWatch({ database, log }: { database: Database; log: Logger }): Rounds {
  return startRounds(
    async () => {
      await addUpModelHours(database, Date.now());
      await addUpPerformance(database, Date.now());
    },
    {
      everyMs: EVERY_MS,
      onFailure: (error) => log.warn({ err: error }, "failed to aggregate the models' hours; retrying"),
    },
  );
}
