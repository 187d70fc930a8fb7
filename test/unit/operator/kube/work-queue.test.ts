import { expect, test, vi } from "vitest";
import { KubeError } from "../../../../operator/kube/kube-error.ts";
import { startWorkQueue, type Again, type WorkQueue } from "../../../../operator/kube/work-queue.ts";

interface Run {
  key: string;
  end(again?: Again): void;
  fail(): void;
}

/** A queue whose work the test ends by hand. */
function start(workers = 2) {
  const runs: Run[] = [];
  const results: string[] = [];
  const queue: WorkQueue = startWorkQueue({
    name: "test",
    workers,
    random: () => 0.5,
    backOff: () => ({ firstMs: 10, maxMs: 100 }),
    events: { reconciled: ({ key, result }) => void results.push(`${key} ${result}`), queueLength: () => undefined },
    work(key) {
      const { promise, resolve, reject } = Promise.withResolvers<Again>();
      runs.push({ key, end: (again = null) => resolve(again), fail: () => reject(new Error("no")) });
      return promise;
    },
  });
  return { queue, runs, results, keys: () => runs.map(({ key }) => key) };
}

const settled = () => vi.waitFor(() => undefined);

test("a key added many times while it waits is processed once", async () => {
  const { queue, runs, keys } = start(1);
  for (const key of ["a", "b", "b", "b"]) queue.add(key);
  expect(keys()).toEqual(["a"]);
  runs[0]?.end();
  await vi.waitFor(() => expect(keys()).toEqual(["a", "b"]), { timeout: 30_000 });
  runs[1]?.end();
  await queue.stop();
  expect(keys()).toEqual(["a", "b"]);
});

test("a key added while it is processed is processed again after that, never at the same time", async () => {
  const { queue, runs, keys } = start(4);
  queue.add("a");
  queue.add("a");
  queue.add("a");
  await settled();
  expect(keys()).toEqual(["a"]);
  runs[0]?.end();
  await vi.waitFor(() => expect(keys()).toEqual(["a", "a"]), { timeout: 30_000 });
  runs[1]?.end();
  await queue.stop();
});

test("as many keys as workers are processed at a time", async () => {
  const { queue, runs, keys } = start(2);
  for (const key of ["a", "b", "c"]) queue.add(key);
  expect(keys()).toEqual(["a", "b"]);
  runs[1]?.end();
  await vi.waitFor(() => expect(keys()).toEqual(["a", "b", "c"]), { timeout: 30_000 });
  for (const run of runs) run.end();
  await queue.stop();
});

test("a failing key returns with growing delays, and blocks no other", async () => {
  vi.useFakeTimers();
  try {
    const { queue, runs, results, keys } = start(2);
    queue.add("bad");
    runs[0]?.fail();
    await vi.advanceTimersByTimeAsync(0);
    queue.add("good");
    runs[1]?.end();
    // 10 ms, spread: 7.5.
    await vi.advanceTimersByTimeAsync(7);
    expect(keys()).toEqual(["bad", "good"]);
    await vi.advanceTimersByTimeAsync(1);
    expect(keys()).toEqual(["bad", "good", "bad"]);
    runs[2]?.fail();
    await vi.advanceTimersByTimeAsync(14);
    expect(keys().length).toBe(3);
    await vi.advanceTimersByTimeAsync(1);
    expect(keys().length).toBe(4);
    runs[3]?.end();
    await queue.stop();
    expect(results).toEqual(["bad error", "good success", "bad error", "bad success"]);
  } finally {
    vi.useRealTimers();
  }
});

test("a key returns at the requested time, sooner if it is added", async () => {
  vi.useFakeTimers();
  try {
    const { queue, runs, keys } = start(1);
    queue.add("a");
    runs[0]?.end(1_000);
    await vi.advanceTimersByTimeAsync(500);
    queue.add("a");
    expect(keys().length).toBe(2);
    runs[1]?.end(1_000);
    await vi.advanceTimersByTimeAsync(999);
    expect(keys().length).toBe(2);
    await vi.advanceTimersByTimeAsync(1);
    expect(keys().length).toBe(3);
    runs[2]?.end();
    await queue.stop();
  } finally {
    vi.useRealTimers();
  }
});

test("a key whose work is outdated returns with growing delays, at once if it is added, and soon again after a success", async () => {
  vi.useFakeTimers();
  try {
    const { queue, runs, results, keys } = start(1);
    const endOutdated = async (delayMs: number) => {
      const before = runs.length;
      runs.at(-1)?.end("outdated");
      await vi.advanceTimersByTimeAsync(delayMs - 1);
      expect(keys()).toHaveLength(before);
      await vi.advanceTimersByTimeAsync(1);
      expect(keys()).toHaveLength(before + 1);
    };
    queue.add("a");
    for (const delayMs of [375, 750, 1_500, 3_000, 6_000, 12_000, 22_500, 22_500]) await endOutdated(delayMs);
    runs.at(-1)?.end("outdated");
    await vi.advanceTimersByTimeAsync(0);
    queue.add("a");
    expect(keys()).toHaveLength(10);
    runs.at(-1)?.end();
    await vi.advanceTimersByTimeAsync(0);
    queue.add("a");
    await endOutdated(375);
    runs.at(-1)?.end();
    await queue.stop();
    expect(new Set(results)).toEqual(new Set(["a requeue_after", "a success"]));
  } finally {
    vi.useRealTimers();
  }
});

test("a stopped queue finishes running work and starts nothing more", async () => {
  const { queue, runs, keys } = start(1);
  queue.add("a");
  queue.add("b");
  const stopping = queue.stop();
  queue.add("c");
  runs[0]?.end();
  await stopping;
  expect(keys()).toEqual(["a"]);
});

test.for([
  ["Postgres", new Error("connect ECONNREFUSED"), 15_000],
  ["an API server that refuses", new KubeError(403, { reason: "Forbidden", message: "no" }), 60_000],
] as const)("after ten minutes of failures by %s, a key is retried in time", async ([, error, withinMs]) => {
  vi.useFakeTimers();
  try {
    let tries = 0;
    let isBack = false;
    const counted: number[] = [];
    const queue = startWorkQueue({
      name: "test",
      workers: 1,
      random: () => 0.999,
      events: { reconciled: () => undefined, queueLength: () => undefined },
      onFailure: ({ failures }) => void counted.push(failures),
      async work() {
        tries += 1;
        if (!isBack) throw error;
        return null;
      },
    });
    queue.add("a");
    await vi.advanceTimersByTimeAsync(600_000);
    expect(counted).toEqual(Array.from({ length: tries }, (_, at) => at + 1));
    isBack = true;
    const before = tries;
    await vi.advanceTimersByTimeAsync(withinMs);
    expect(tries).toBe(before + 1);
    await queue.stop();
  } finally {
    vi.useRealTimers();
  }
});
