import { createFleetingMap } from "../runtime/fleeting-map.ts";

/**
 * Determines which side ended a request. To ext_proc, a model server that breaks off and a client that leaves are both the end of
 * Envoy's stream. Envoy's access log knows, and reports the former on a separate stream (broken-answer-log.ts).
 */
export interface BrokenAnswers {
  /** @param brokenOff called if Envoy reports that this request's model server broke off. */
  watch(requestId: string, brokenOff: (report: BrokenAnswer) => void): void;
  forget(requestId: string): void;
  /**
   * Envoy's stream of this request is over, with its answer unfinished. A report may be a moment behind.
   * @param decide called if none comes; then the request is forgotten. Judged once more, it is decided as told last.
   */
  judge(requestId: string, decide: () => void, withinMs?: number): void;
  /** Envoy's report. @returns false if the request does not, or no longer, belong to this process. */
  report(broken: BrokenAnswer): boolean;
  /** Requests that wait for a report. */
  readonly undecided: number;
  /** Decides them without a report. */
  close(): void;
}

/** Of one attempt, if there are several. */
export interface BrokenAnswer {
  requestId: string;
  /** The cluster that Envoy had sent the request to. */
  cluster: string;
  status: number;
  /** If Envoy stopped waiting: how much of the answer's body it had received from the model server. */
  silentAfterBytes: number | null;
  /** If the answer was no longer wanted, and its server has not failed: the same. */
  leftAfterBytes: number | null;
}

/** The first report on a new stream arrived 0.8 ms later (docs/decisions/0003); reports to another process take two more hops. */
const REPORT_WITHIN_MS = 300;
/** A timer that fires this much later shows that this process, and probably Envoy too, is short of CPU time: it waits again. */
const LATE_MS = 50;
/** Its account's credit and concurrent request are held meanwhile. */
const MAX_REPORT_DELAY_MS = 2_000;

interface Clock {
  nowMs(): number;
}

interface Undecided {
  cancel(): void;
  decide(): void;
}

/** @param clock monotonic, ms. */
export function createBrokenAnswers(clock: Clock): BrokenAnswers {
  const watched = createFleetingMap<string, (report: BrokenAnswer) => void>();
  const undecided = new Map<string, Undecided>();

  function forget(requestId: string): void {
    watched.delete(requestId);
    undecided.get(requestId)?.cancel();
    undecided.delete(requestId);
  }

  return {
    watch: (requestId, brokenOff) => watched.set(requestId, brokenOff),
    forget,
    judge(requestId, decideIt, withinMs = REPORT_WITHIN_MS) {
      if (watched.get(requestId) === undefined) return decideIt();
      undecided.get(requestId)?.cancel();
      const decide = () => {
        forget(requestId);
        decideIt();
      };
      undecided.set(requestId, { cancel: afterReports(decide, withinMs, clock), decide });
    },
    report(report) {
      const { requestId } = report;
      const brokenOff = watched.get(requestId);
      if (brokenOff === undefined) return false;
      if (report.leftAfterBytes !== null) {
        brokenOff(report);
        return true;
      }
      // An open request stays watched: the next attempt's server may break off, too.
      if (undecided.has(requestId)) forget(requestId);
      brokenOff(report);
      return true;
    },
    get undecided() {
      return undecided.size;
    },
    close() {
      for (const { decide } of undecided.values()) decide();
    },
  };
}

/**
 * Calls back after a time, once everything that has arrived by then was read, and later if this process was late.
 * @returns what cancels it.
 */
function afterReports(callback: () => void, withinMs: number, { nowMs }: Clock): () => void {
  const untilMs = nowMs() + Math.max(withinMs, MAX_REPORT_DELAY_MS);
  let timer: NodeJS.Timeout;
  let reading: NodeJS.Immediate | undefined;

  function wait(): void {
    const dueMs = nowMs() + withinMs;
    timer = setTimeout(() => {
      const firedMs = nowMs();
      if (firedMs - dueMs > LATE_MS && firedMs < untilMs) return wait();
      // Timers come before sockets in a turn of the event loop.
      reading = setImmediate(callback);
    }, withinMs);
  }

  wait();
  return () => {
    clearTimeout(timer);
    clearImmediate(reading);
  };
}
