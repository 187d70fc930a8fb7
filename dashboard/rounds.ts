import { setTimeout as sleep } from "node:timers/promises";

/** Something that is looked at again and again. */
export interface Rounds {
  /** After the round that runs. */
  stop(): Promise<void>;
}

/** @param options.onFailure a round that fails is told of, and the next one comes all the same. */
export function startRounds(
  round: () => Promise<void>,
  { everyMs, onFailure }: { everyMs: number; onFailure: (error: unknown) => void },
): Rounds {
  const stopping = new AbortController();
  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      await round().catch(onFailure);
      await sleep(everyMs, undefined, { signal: stopping.signal }).catch(() => {});
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
