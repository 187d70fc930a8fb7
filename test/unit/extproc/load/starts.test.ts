import { expect, test } from "vitest";
import { createAccountLoad, type AccountLoad } from "../../../../extproc/load/account-load.ts";
import { correctCost } from "../../../../extproc/load/start-pace.ts";
import { createStarts } from "../../../../extproc/load/starts.ts";

/** Work that fills the process, as account-load.ts counts it. */
const FULL_WORK_MS = 2_000;

function setUp({ accounts = { flood: 0.8, other: 0.1 }, isAlone = false, lateMs = 0 }: Partial<Options> = {}) {
  const loads = new Map<string, AccountLoad>();
  for (const [account, part] of Object.entries(accounts)) {
    const load = createAccountLoad();
    load.share.workMs = part * FULL_WORK_MS;
    loads.set(account, load);
  }
  let nowMs = 0;
  let looks: (() => void)[] = [];
  const counts = { delayed: 0, refused: 0 };
  const starts = createStarts({
    loads: { size: loads.size, workMs: [...loads.values()].reduce((sum, { share }) => sum + share.workMs, 0) },
    clock: { nowMs: () => nowMs },
    lateness: { meanMs: lateMs },
    isAlone: () => isAlone,
    onDelayed: () => (counts.delayed += 1),
    onRefused: () => (counts.refused += 1),
    defer(callback) {
      looks.push(callback);
      return () => (looks = looks.filter((each) => each !== callback));
    },
  });
  const of = (account: string) => loads.get(account) ?? createAccountLoad();
  return {
    counts,
    of,
    /** A request that has been admitted. Its body comes as soon as it may. */
    arrive(account: string, { sendsBody = true } = {}) {
      const load = of(account);
      load.open += 1;
      const start = starts.start(load);
      if (sendsBody && start !== null) void (start.begun ?? Promise.resolve()).then(start.entered, () => {});
      return start;
    },
    async pass(ms: number) {
      for (const untilMs = nowMs + ms; nowMs < untilMs; nowMs += 1) {
        for (const look of looks.splice(0)) look();
        await Promise.resolve();
      }
    },
    starts,
  };
}

interface Options {
  /** Parts of the process that accounts have had in the last seconds. */
  accounts: Record<string, number>;
  isAlone: boolean;
  /** How late the process is. */
  lateMs: number;
}

type Arrived = ReturnType<ReturnType<typeof setUp>["arrive"]>;

/** How many of these have begun by now. */
function countBegun(starts: readonly Arrived[]) {
  const found = { begun: 0, refused: 0 };
  for (const start of starts)
    start?.begun?.then(
      () => (found.begun += 1),
      () => (found.refused += 1),
    );
  return found;
}

/** Those that have to wait. */
const waitingOf = (starts: readonly Arrived[]) => starts.filter((start) => start !== null && start.begun !== null);

test("an account with few running requests never waits", () => {
  const { arrive, counts } = setUp();
  expect(Array.from({ length: 15 }, () => arrive("flood"))).toEqual(Array.from({ length: 15 }, () => null));
  expect(counts.delayed).toBe(0);
});

test("an account that is alone starts as fast as its bodies come", async () => {
  const { arrive, pass } = setUp({ isAlone: true, lateMs: 30 });
  const waiting = waitingOf(Array.from({ length: 600 }, () => arrive("flood")));
  const found = countBegun(waiting);
  await pass(50);
  expect(found).toEqual({ begun: waiting.length, refused: 0 });
});

test("an account that is alone has at most 16 requests whose body has not come, so that others find no queue", async () => {
  const { arrive, pass } = setUp({ isAlone: true });
  const starts = Array.from({ length: 600 }, () => arrive("flood", { sendsBody: false }));
  const counted = starts.filter((start) => start !== null);
  const waiting = waitingOf(starts);
  expect(counted.length - waiting.length).toBe(16);
  const found = countBegun(waiting);
  await pass(10);
  expect(found.begun).toBe(0);
  for (const start of counted.slice(0, 5)) start.entered();
  await pass(1);
  expect(found.begun).toBe(5);
});

test("a client that is slow to send its body keeps the others of its account waiting for no more than 50 ms", async () => {
  const { arrive, pass } = setUp({ isAlone: true });
  const found = countBegun(waitingOf(Array.from({ length: 600 }, () => arrive("flood", { sendsBody: false }))));
  await pass(54);
  expect(found.begun).toBe(16);
  await pass(50);
  expect(found.begun).toBe(32);
});

test("an account that is alone is never refused for waiting", async () => {
  const { arrive, pass } = setUp({ isAlone: true });
  const waiting = waitingOf(Array.from({ length: 3_900 }, () => arrive("flood", { sendsBody: false })));
  const found = countBegun(waiting);
  await pass(8_200);
  expect(found).toEqual({ begun: waiting.length, refused: 0 });
});

test("next to others, an account's requests start as fast as its part of the process allows", async () => {
  const { arrive, counts, pass, of } = setUp();
  of("flood").starts.costMs = 2;
  const waiting = waitingOf(Array.from({ length: 600 }, () => arrive("flood")));
  expect(counts.delayed).toBe(waiting.length);
  const found = countBegun(waiting);
  await pass(1_000);
  // The others have had a tenth, and a fifth stays idle: seven tenths, at 2 ms a request.
  expect(found.begun).toBeGreaterThan(330);
  expect(found.begun).toBeLessThan(365);
});

test("while the process is late, they start more slowly", async () => {
  const { arrive, pass } = setUp({ lateMs: 30 });
  await pass(100);
  const found = countBegun(Array.from({ length: 600 }, () => arrive("flood")));
  await pass(2_000);
  const after = found.begun;
  await pass(1_000);
  expect(found.begun - after).toBeGreaterThan(130);
  expect(found.begun - after).toBeLessThan(170);
});

test("another account's requests start at once meanwhile", () => {
  const { arrive } = setUp();
  for (let index = 0; index < 600; index++) arrive("flood");
  expect(arrive("other")).toBe(null);
});

test("accounts that want more than the capacity get even shares", async () => {
  const { arrive, pass } = setUp({ accounts: { one: 0.6, two: 0.6 } });
  const found = ["one", "two"].map((account) => countBegun(Array.from({ length: 600 }, () => arrive(account))));
  await pass(1_000);
  for (const { begun } of found) {
    expect(begun).toBeGreaterThan(370);
    expect(begun).toBeLessThan(430);
  }
});

test("requests that have waited for five seconds are refused, a hundred per second, and after eight seconds at once", async () => {
  const { arrive, counts, pass, of } = setUp();
  of("flood").starts.costMs = 35;
  const found = countBegun(Array.from({ length: 1_000 }, () => arrive("flood")));
  await pass(4_900);
  expect(found.refused).toBe(0);
  await pass(1_100);
  expect(found.refused).toBeGreaterThan(80);
  expect(found.refused).toBeLessThan(110);
  await pass(2_200);
  // A start every 50 ms, and the rest.
  expect(found.refused).toBeGreaterThan(800);
  expect(counts.refused).toBe(found.refused);
});

test("a refusal names the cause and the retry time", async () => {
  const { arrive, of, pass } = setUp();
  of("flood").starts.costMs = 50;
  const starts = Array.from({ length: 200 }, () => arrive("flood"));
  const refusals: unknown[] = [];
  for (const start of starts) start?.begun?.catch((error: unknown) => refusals.push(error));
  await pass(8_100);
  expect(refusals.length).toBeGreaterThan(80);
  for (const refusal of refusals)
    expect(refusal).toMatchObject({ code: "rate_limited", status: 429, headers: { "retry-after": "1" } });
});

test("a client that disconnects makes room for the next", async () => {
  const { arrive, pass, of } = setUp();
  of("flood").starts.costMs = 40;
  const waiting = waitingOf(Array.from({ length: 80 }, () => arrive("flood")));
  const last = countBegun(waiting.slice(-1));
  for (const start of waiting.slice(0, -1)) start?.entered();
  // Without them it is next: the last start that was made counts.
  await pass(1_000);
  expect(last.begun).toBe(1);
});

test("a request's cost follows the account's work", () => {
  const { starts } = createAccountLoad();
  for (let round = 0; round < 30; round++) {
    starts.count = 10;
    correctCost(starts, 40);
  }
  expect(starts.costMs).toBeCloseTo(4, 1);
  correctCost(starts, 1_000);
  expect(starts.costMs).toBeCloseTo(4, 1);
});
