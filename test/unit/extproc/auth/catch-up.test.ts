import { expect, test } from "vitest";
import { createCatchUp, HURRY } from "../../../../extproc/auth/catch-up.ts";
import { createPace } from "../../../../extproc/load/pace.ts";

function start({ maxWaiting = 10_000, withinMs = 60_000 } = {}) {
  let nowMs = 0;
  let reading = Promise.withResolvers<void>();
  const feed = { hurried: 0, caughtUp: () => reading.promise, readSoon: () => void (feed.hurried += 1) };
  const clock = { nowMs: () => nowMs };
  return {
    feed,
    catchUp: createCatchUp({ feed, clock, hurry: createPace(HURRY), maxWaiting, withinMs }),
    pass: (ms: number) => (nowMs += ms),
    /** Ends the reading that everybody waits for. */
    read(): void {
      reading.resolve();
      reading = Promise.withResolvers();
    },
    fail: () => reading.reject(new Error("the connection was lost")),
  };
}

const refused = { code: "billing_unavailable", status: 503, headers: { "retry-after": "5" } };

test("all waiting requests share one read", async () => {
  const { catchUp, read } = start();
  const waits = Array.from({ length: 1_000 }, () => catchUp.wait());
  read();
  expect(await Promise.all(waits)).toHaveLength(1_000);
});

test("a flood makes the feed read 10 times at once and 5 times a second after that", async () => {
  const { catchUp, feed, pass, read } = start();
  const waits: Promise<void>[] = [];
  for (let at = 0; at < 10_000; at++) {
    waits.push(catchUp.wait());
    pass(1);
  }
  read();
  await Promise.all(waits);
  expect(feed.hurried).toBe(HURRY.burst + HURRY.perSecond * 10 - 1);
});

test("no key is rejected as wrong if the database cannot be read", async () => {
  const { catchUp, fail } = start();
  const wait = catchUp.wait();
  fail();
  await expect(wait).rejects.toMatchObject(refused);
});

test("nobody waits forever for a database that does not answer", async () => {
  const { catchUp } = start({ withinMs: 1 });
  await expect(catchUp.wait()).rejects.toMatchObject(refused);
});

test("a request that finds too many waiting must retry; one that has waited makes room", async () => {
  const { catchUp, read } = start({ maxWaiting: 2 });
  const waits = [catchUp.wait(), catchUp.wait()];
  await expect(catchUp.wait()).rejects.toMatchObject(refused);
  read();
  await Promise.all(waits);
  const next = catchUp.wait();
  read();
  await next;
});
