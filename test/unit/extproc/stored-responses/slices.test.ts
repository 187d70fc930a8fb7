import { expect, test } from "vitest";
import { createSlices } from "../../../../extproc/stored-responses/slices.ts";

/** A clock that only work moves, and an event loop that turns when the test says so. */
function setUp() {
  let nowMs = 0;
  let deferred: (() => void)[] = [];
  const slices = createSlices({ clock: { nowMs: () => nowMs }, defer: (callback) => deferred.push(callback) });
  return {
    /** Pieces of half a millisecond. @returns how many are done. */
    work(pieces: number): () => number {
      const before = slices.begin();
      let done = 0;
      async function run(): Promise<void> {
        for (; done < pieces; done += 1) {
          await before();
          nowMs += 0.5;
        }
      }
      void run();
      return () => done;
    },
    /** One turn of the event loop, with all that follows from it. */
    async turn() {
      const now = deferred;
      deferred = [];
      for (const each of now) each();
      for (let step = 0; step < 50; step += 1) await Promise.resolve();
    },
    isIdle: () => deferred.length === 0,
  };
}

test("a long piece of work takes 2 ms of a turn of the event loop", async () => {
  const { work, turn, isIdle } = setUp();
  const done = work(10);
  const steps: number[] = [];
  for (let step = 0; step < 4; step += 1) {
    steps.push(done());
    await turn();
  }
  expect(steps).toEqual([0, 4, 8, 10]);
  expect(isIdle()).toBe(true);
});

test("several take a turn each, in order", async () => {
  const { work, turn } = setUp();
  const all = [work(6), work(6), work(6)];
  const steps: number[][] = [];
  for (let step = 0; step < 6; step += 1) {
    await turn();
    steps.push(all.map((done) => done()));
  }
  expect(steps).toEqual([
    [4, 0, 0],
    [4, 4, 0],
    [4, 4, 4],
    [6, 4, 4],
    [6, 6, 4],
    [6, 6, 6],
  ]);
});
