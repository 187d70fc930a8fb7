import type { Logger } from "../../runtime/log.ts";
import { startRounds, type Rounds } from "../../runtime/rounds.ts";
import type { Limits } from "./limits.ts";

const EVERY_MS = 1_000;

/** Keeps the counts of all processes together. While the database is away each goes on with what it knows. */
export function startLimitExchange({ limits, log }: { limits: Pick<Limits, "share">; log: Logger }): Rounds {
  let failures = 0;
  return startRounds(
    async () => {
      await limits.share();
      failures = 0;
    },
    {
      everyMs: EVERY_MS,
      onFailure(error) {
        if (++failures === 1) log.warn({ err: error }, "limits cannot be shared; each process counts by itself");
      },
    },
  );
}
