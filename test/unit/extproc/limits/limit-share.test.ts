import { expect, test } from "vitest";
import { LIMITS, type LimitKind } from "../../../../contract/limits.ts";
import { createCounter, type Counter } from "../../../../extproc/limits/counter.ts";
import { createLimitShare } from "../../../../extproc/limits/limit-share.ts";
import type { LimitUse } from "../../../../ledger/leases/limit-turns.ts";

const MINUTE_MS = 60_000;
const START_MS = Date.parse("2026-11-21T10:20:00Z");

/** Limits in use, which take a turn each second if they need one. Every turn is granted as much as it wants. */
function startShare({ limits, name = "requestsPerMinute" }: { limits: number; name?: keyof typeof LIMITS }) {
  const clock = { now: START_MS };
  const definition = LIMITS[name];
  const subjects = new Map<string, Map<LimitKind, Counter>>();
  for (let number = 0; number < limits; number++)
    subjects.set(`key:${number}`, new Map([[definition.kind, createCounter(definition, 1_000_000n)]]));
  const turns: { atMs: number; uses: readonly LimitUse[] }[] = [];
  const share = createLimitShare({
    clock: { nowMs: () => clock.now },
    subjects,
    turns: {
      async take(uses) {
        turns.push({ atMs: clock.now, uses });
        const grants = uses.map(({ most }) => ({ grantedUse: most, used: 0n, running: 0n, term: 1n }));
        return { grants, processes: 2 };
      },
      resolve: async () => false,
    },
  });
  const use = (amount: bigint) => {
    for (const counters of subjects.values()) for (const counter of counters.values()) counter.add(amount, clock.now);
  };
  return {
    clock,
    turns,
    use,
    known: () => subjects.size,
    /** Nothing uses them meanwhile. */
    async idle(minutes: number): Promise<void> {
      clock.now += minutes * MINUTE_MS;
      await share.share();
    },
    async run(seconds: number): Promise<void> {
      for (let second = 0; second < seconds; second++) {
        clock.now += 1_000;
        use(0n);
        await share.share();
      }
    },
    /** The longest time that a limit has waited for a report since then, seconds. */
    longestGapSeconds(fromMs: number): number {
      const lastMs = new Map<string, number>();
      let longest = 0;
      for (const { atMs, uses } of turns) {
        for (const { subject } of uses) {
          const beforeMs = Math.max(fromMs, lastMs.get(subject) ?? fromMs);
          if (atMs > fromMs) longest = Math.max(longest, atMs - beforeMs);
          lastMs.set(subject, atMs);
        }
      }
      expect(lastMs.size).toBe(subjects.size);
      for (const atMs of lastMs.values()) longest = Math.max(longest, clock.now - Math.max(fromMs, atMs));
      return longest / 1_000;
    },
  };
}

test("up to fifty limits in use are reported every second (S23)", async () => {
  const { turns, use, run } = startShare({ limits: 50 });
  use(1n);
  await run(5);
  expect(turns.map(({ uses }) => uses.length)).toEqual([50, 50, 50, 50, 50]);
});

test("many limits are reported within twelve seconds each, in even parts (S23)", async () => {
  const share = startShare({ limits: 1_200 });
  share.use(1n);
  await share.run(20);
  const settledMs = share.clock.now;
  const settled = share.turns.length;
  await share.run(36);
  expect(share.longestGapSeconds(settledMs)).toBeLessThanOrEqual(12);
  const turns = share.turns.slice(settled);
  expect(turns).toHaveLength(36);
  for (const { uses } of turns) expect(uses.length).toBeLessThanOrEqual(101);
});

test("running requests are reported within eight seconds, before their reservation can expire (S23)", async () => {
  const share = startShare({ limits: 1_200, name: "concurrentRequests" });
  share.use(1n);
  await share.run(20);
  const settledMs = share.clock.now;
  await share.run(30);
  expect(share.longestGapSeconds(settledMs)).toBeLessThanOrEqual(8);
});

test("all limits in use are reported in a new period before it is shared without those that were not (S23)", async () => {
  const share = startShare({ limits: 1_200 });
  share.use(1n);
  await share.run(68);
  const ofPeriod = share.turns.flatMap(({ uses }) => uses.filter(({ periodStartMs }) => periodStartMs === START_MS + MINUTE_MS));
  const met = new Set(ofPeriod.map(({ subject }) => subject));
  expect(met.size).toBe(1_200);
});

test("a limit of many that is nearly used up on a process is reported at the next second (S23)", async () => {
  const share = startShare({ limits: 1_200 });
  share.use(1n);
  await share.run(21);
  const before = share.turns.length;
  share.use(600_000n);
  await share.run(1);
  expect(share.turns.slice(before).flatMap(({ uses }) => uses)).toHaveLength(1_200);
});

test.for(["concurrentRequests", "tokensPerMinute", "spendPerMonthUsd"] as const)(
  "after the clock was set back by a day, many limits of %s are reported in time (S23)",
  async (name) => {
    const share = startShare({ limits: 1_200, name });
    share.use(1n);
    await share.run(20);
    share.clock.now -= 24 * 60 * MINUTE_MS;
    const before = share.turns.length;
    await share.run(13);
    const met = new Set(share.turns.slice(before).flatMap(({ uses }) => uses.map(({ subject }) => subject)));
    expect(met.size).toBe(1_200);
  },
);

test.for(["concurrentRequests", "requestsPerMinute"] as const)(
  "%s that nobody has used for two hours are forgotten",
  async (name) => {
    const { known, run, idle } = startShare({ limits: 3, name });
    await run(5);
    await idle(119);
    expect(known()).toBe(3);
    await idle(2);
    expect(known()).toBe(0);
  },
);
