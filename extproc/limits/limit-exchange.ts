import type { Logger } from "../../runtime/log.ts";
import { createOutage } from "../../runtime/outage.ts";
import type { Limits } from "./limits.ts";
import { startRounds, type Rounds } from "../../runtime/wait.ts";

const EVERY_MS = 1_000;

/**
 * Synchronizes the counts of all processes, at once if a request waits for it. While the database is down each continues with its
 * known state.
 */
export function startLimitExchange({
  limits,
  log,
}: {
  limits: Pick<Limits, "share" | "shareAll" | "untilWanted">;
  log: Logger;
}): Rounds {
  const outage = createOutage({
    log,
    failing: "failed to share limits; each process counts its own requests",
    over: "limits are shared again",
  });
  const rounds = startRounds(
    async () => {
      await limits.share();
      outage.over();
    },
    { everyMs: EVERY_MS, onFailure: (error) => outage.failed(error), rest: limits.untilWanted },
  );
  return {
    async stop() {
      await rounds.stop();
      await limits.shareAll().catch((error: unknown) => outage.failed(error));
    },
  };
}
