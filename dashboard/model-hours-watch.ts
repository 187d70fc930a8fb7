import type { Database } from "../ledger/postgres/database.ts";
import { addUpModelHours } from "../ledger/usage/model-hours.ts";
import type { Logger } from "../runtime/log.ts";
import { startRounds, type Rounds } from "../runtime/wait.ts";

const EVERY_MS = 60_000;

/** Adds up how models answered, for the pages that show it. */
export function startModelHoursWatch({ database, log }: { database: Database; log: Logger }): Rounds {
  return startRounds(() => addUpModelHours(database, Date.now()), {
    everyMs: EVERY_MS,
    onFailure: (error) => log.warn({ err: error }, "the models' hours could not be added up; it is tried again"),
  });
}
