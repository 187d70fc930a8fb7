import type { LimitKind } from "../../contract/limits.ts";
import type { LimitTurns } from "../../ledger/leases/limit-turns.ts";
import type { Counter, CounterReport } from "./counter.ts";

export interface LimitShareDeps {
  clock: { nowMs(): number };
  turns: LimitTurns;
  /** Each limited key and account; unused ones are removed. */
  subjects: Map<string, Map<LimitKind, Counter>>;
}

export interface LimitShare {
  share(): Promise<void>;
  shareAll(): Promise<void>;
  /** Processes that share limits, as known to this one. */
  processes(): number;
}

/** This many are reported each second although they could wait: a small number of limits is always fresh. */
const MIN_REPORTED = 50;
const SECOND_MS = 1_000;
/** A turn so soon after another is one that requests wait for. Ordinary ones are a second apart, by clocks that may be adjusted. */
const HURRIED_WITHIN_MS = 800;

interface Reported {
  counter: Counter;
  report: CounterReport;
}

/** Decides what a turn reports, and passes the outcome to the counters. */
export function createLimitShare({ clock, turns, subjects }: LimitShareDeps): LimitShare {
  let processes = 1;
  /** Time of the last turn that counted, Unix ms. */
  let takenMs = clock.nowMs();
  /** Of a turn with unknown outcome: reported again only if it did not count. */
  let unresolved: readonly Reported[] | undefined;

  function named(): { subject: string; counter: Counter }[] {
    return [...subjects].flatMap(([subject, counters]) => [...counters.values()].map((counter) => ({ subject, counter })));
  }

  function chooseDue(nowMs: number) {
    const all = named().map((each) => ({ ...each, need: each.counter.need(nowMs) }));
    const passedMs = Math.max(0, nowMs - takenMs);
    const isHurried = passedMs < HURRIED_WITHIN_MS;
    const urgent = all.filter(({ need }) => need === "at_once" || (need === "now" && !isHurried));
    const soon = isHurried ? all.filter(({ need }) => need === "now") : [];
    const later = all.filter(({ need }) => need === "later").sort((a, b) => dueMs(a.counter) - dueMs(b.counter));
    // Each turn reports the part of them that keeps all in time.
    const part = later.reduce((sum, { counter }) => sum + passedMs / counter.reportWithinMs, 0);
    const least = Math.max(1, MIN_REPORTED * Math.min(1, passedMs / SECOND_MS));
    return [...urgent, ...[...soon, ...later].slice(0, Math.ceil(Math.max(least, part)))];
  }

  function forget(nowMs: number): void {
    for (const [subject, counters] of subjects)
      if (counters.values().every((counter) => counter.isForgotten(nowMs))) subjects.delete(subject);
  }

  async function resolve(): Promise<void> {
    if (unresolved === undefined) return;
    const hasCounted = await turns.resolve();
    for (const { counter, report } of unresolved) {
      if (hasCounted) counter.counted(report, { grant: undefined, processes, nowMs: clock.nowMs() });
      else counter.failed();
    }
    unresolved = undefined;
  }

  async function take(due: readonly { subject: string; counter: Counter }[], { isLast = false } = {}): Promise<void> {
    const nowMs = clock.nowMs();
    const reported = due.map(({ subject, counter }) => {
      const report = counter.report(nowMs);
      // Under a limit of zero it reserves nothing.
      return { subject, counter, report: isLast ? { ...report, limit: 0n, unused: 0n } : report };
    });
    unresolved = reported;
    const result = await turns.take(
      reported.map(({ subject, counter, report }) => ({ subject, kind: counter.definition.kind, ...report })),
    );
    unresolved = undefined;
    ({ processes } = result);
    takenMs = nowMs;
    for (const [index, { counter, report }] of reported.entries())
      counter.counted(report, { grant: result.grants[index], processes, nowMs });
  }

  return {
    processes: () => processes,
    async share() {
      await resolve();
      const nowMs = clock.nowMs();
      forget(nowMs);
      await take(chooseDue(nowMs));
    },
    async shareAll() {
      await resolve();
      const nowMs = clock.nowMs();
      await take(
        named().filter(({ counter }) => counter.need(nowMs) !== "none"),
        { isLast: true },
      );
    },
  };
}

function dueMs({ reportedMs, reportWithinMs }: Counter): number {
  return reportedMs + reportWithinMs;
}
