import { expect, test } from "vitest";
import { createHashQueue, type HashWork } from "../../../../ledger/sign-in/hash-queue.ts";

function open(concurrency: number) {
  const queued = createHashQueue(concurrency);
  const started: string[] = [];
  const finish: (() => void)[] = [];
  const add = (work: HashWork, name: string) =>
    queued(work, () => {
      started.push(name);
      return new Promise<string>((resolve) => finish.push(() => resolve(name)));
    });
  return { add, started, finish };
}

test("sign-ups beyond their share of the queue are refused at once with a retry time, and sign-ins are not", async () => {
  const { add, started } = open(1);
  const taken = Array.from({ length: 17 }, (_, index) => add("make", `sign-up ${index}`));
  await expect(add("make", "one more")).rejects.toMatchObject({ code: "overloaded", headers: { "retry-after": "5" } });
  for (let index = 0; index < 16; index++) taken.push(add("check", `sign-in ${index}`));
  await expect(add("check", "one more")).rejects.toMatchObject({ code: "overloaded" });
  expect(started).toEqual(["sign-up 0"]);
  expect(taken).toHaveLength(33);
});

test("a sign-in is processed before waiting sign-ups, and concurrency is bounded", async () => {
  const { add, started, finish } = open(2);
  const all = [add("make", "a"), add("make", "b"), add("make", "c"), add("check", "d")];
  expect(started).toEqual(["a", "b"]);
  finish[0]?.();
  await expect(all[0]).resolves.toBe("a");
  await expect.poll(() => started).toEqual(["a", "b", "d"]);
});
