import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "../../runtime/log.ts";
import type { Limits } from "./limits.ts";

export interface LimitExchangeLoop {
  stop(): Promise<void>;
}

const EVERY_MS = 1_000;

/** Keeps the counts of all processes together. While the database is away each goes on with what it knows. */
export function startLimitExchange({ limits, log }: { limits: Pick<Limits, "share">; log: Logger }): LimitExchangeLoop {
  const stopping = new AbortController();
  let failures = 0;

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      try {
        await limits.share();
        failures = 0;
      } catch (error) {
        if (++failures === 1) log.warn({ err: error }, "limits cannot be shared; each process counts by itself");
      }
      await sleep(EVERY_MS, undefined, { signal: stopping.signal }).catch(() => {});
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
