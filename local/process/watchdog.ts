import { startRounds } from "../../runtime/wait.ts";

export interface WatchdogOptions {
  /** Any answer means that it runs. */
  url: string;
  /** It has not answered several times in a row: it is suspended, or caught in a loop. Called once. */
  onSilent: () => void;
  everyMs?: number;
  answerWithinMs?: number;
}

export interface Watchdog {
  stop(): Promise<void>;
}

const EVERY_MS = 2_000;
const ANSWER_WITHIN_MS = 3_000;
/** A process that waits for a core on a busy machine misses one or two. */
const MAX_SILENT_LOOKS = 4;

/** Checks from outside whether a process still works: one that hangs does not exit, so nothing else would restart it. */
export function startWatchdog(options: WatchdogOptions): Watchdog {
  const { url, onSilent, everyMs = EVERY_MS, answerWithinMs = ANSWER_WITHIN_MS } = options;
  const stopping = new AbortController();
  let silentLooks = 0;

  async function look(): Promise<void> {
    if (silentLooks >= MAX_SILENT_LOOKS) return;
    silentLooks = (await answers()) ? 0 : silentLooks + 1;
    if (silentLooks === MAX_SILENT_LOOKS && !stopping.signal.aborted) onSilent();
  }

  async function answers(): Promise<boolean> {
    try {
      const signal = AbortSignal.any([stopping.signal, AbortSignal.timeout(answerWithinMs)]);
      const response = await fetch(url, { signal });
      await response.body?.cancel();
      return true;
    } catch {
      return false;
    }
  }

  const rounds = startRounds(look, { everyMs, onFailure: () => {} });
  return {
    async stop() {
      stopping.abort();
      await rounds.stop();
    },
  };
}
