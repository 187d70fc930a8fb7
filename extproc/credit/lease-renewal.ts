import type { Reaper } from "../../ledger/leases/reaper.ts";
import type { Logger } from "../../runtime/log.ts";
import { createOutage } from "../../runtime/outage.ts";
import { startRounds, type Rounds } from "../../runtime/wait.ts";
import type { Credit } from "./credit.ts";

export interface LeaseRenewalDeps {
  credit: Pick<Credit, "keepLeases">;
  reaper: Reaper;
  log: Logger;
  everyMs?: number;
}

const EVERY_MS = 1_000;
/** Any process may end a dead one's leases; the delay matters little. */
const REAP_EVERY_ROUNDS = 10;

/** Renews this process's leases, and ends those of ended processes. */
export function startLeaseRenewal({ credit, reaper, log, everyMs = EVERY_MS }: LeaseRenewalDeps): Rounds {
  const outage = createOutage({
    log,
    failing: "failed to renew credit leases; they remain valid until they expire",
    over: "credit leases are renewed again",
  });
  let rounds = 0;
  return startRounds(
    async () => {
      rounds += 1;
      const isReaping = rounds % REAP_EVERY_ROUNDS === 0;
      try {
        await credit.keepLeases();
      } finally {
        // While somebody holds one account's balance, returning its lease fails in each round; others' leases end nevertheless.
        if (isReaping) await reaper.reap();
      }
      if (!isReaping) return;
      // A round that only renews skips the database if there are no leases.
      outage.over();
    },
    { everyMs, onFailure: (error) => outage.failed(error) },
  );
}
