import { setTimeout as sleep } from "node:timers/promises";
import type { LeaseBank } from "../../ledger/leases/lease-bank.ts";
import type { Logger } from "../../runtime/log.ts";
import { createOutage } from "../../runtime/outage.ts";
import type { Credit } from "./credit.ts";

export interface LeaseKeeper {
  stop(): Promise<void>;
}

export interface LeaseKeeperDeps {
  credit: Pick<Credit, "keepLeases">;
  bank: Pick<LeaseBank, "reap">;
  log: Logger;
  everyMs?: number;
}

const EVERY_MS = 1_000;
/** Any process ends what a dead one has left; how soon matters little. */
const REAP_EVERY_TURNS = 10;

/** Keeps this process's leases in force, and ends those of processes that no longer do. */
export function startLeaseKeeper({ credit, bank, log, everyMs = EVERY_MS }: LeaseKeeperDeps): LeaseKeeper {
  const stopping = new AbortController();
  const outage = createOutage({
    log,
    failing: "credit leases cannot be kept; they stay in force until their time",
    over: "credit leases are kept again",
  });

  async function run(): Promise<void> {
    for (let turn = 1; !stopping.signal.aborted; turn++) {
      await sleep(everyMs, undefined, { signal: stopping.signal }).catch(() => {});
      try {
        await credit.keepLeases();
        if (turn % REAP_EVERY_TURNS !== 0) continue;
        await bank.reap();
        // A turn that only keeps leases asks the database nothing while there are none.
        outage.over();
      } catch (error) {
        outage.failed(error);
      }
    }
  }

  const ended = run();
  return {
    async stop() {
      stopping.abort();
      await ended;
    },
  };
}
