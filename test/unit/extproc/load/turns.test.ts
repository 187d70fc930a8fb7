import { expect, test } from "vitest";
import { createShare, createTurns, waitedMs, type Lane, type Share } from "../../../../extproc/load/turns.ts";

/** A process whose time passes only as messages are handled, and whose rounds the test begins. */
function setUp() {
  let nowMs = 0;
  const deferred: (() => void)[] = [];
  const later: { callback: () => void; dueMs: number }[] = [];
  const turns = createTurns({
    clock: { nowMs: () => nowMs },
    defer: (callback) => deferred.push(callback),
    deferBy: (callback, afterMs) => later.push({ callback, dueMs: nowMs + afterMs }),
  });
  const order: string[] = [];
  const events: string[] = [];

  function open(name: string, share: Share, costMs: number): Lane {
    const lane = turns.lane({
      handle(message) {
        nowMs += costMs;
        order.push(`${name}${message.toString()}`);
      },
      ended: () => events.push(`${name} ended`),
      pause: () => events.push(`${name} paused`),
      resume: () => events.push(`${name} resumed`),
    });
    lane.payFrom(share);
    return lane;
  }

  return {
    open,
    order,
    events,
    nowMs: () => nowMs,
    pass(ms: number) {
      nowMs += ms;
      const due = later.splice(0);
      for (const { callback, dueMs } of due) {
        if (dueMs <= nowMs) callback();
        else later.push({ callback, dueMs });
      }
    },
    /** What the process does between two looks at what has arrived. */
    round() {
      const callback = deferred.shift();
      callback?.();
      return callback !== undefined;
    },
    rounds: () => deferred.length,
  };
}

const number = (index: number) => Buffer.from(String(index));
function send(lane: Lane, count: number, from = 0): void {
  for (let index = 0; index < count; index++) lane.take(number(from + index));
}

test("messages are handled as they arrive while an account takes little time", () => {
  const { open, order, pass, rounds } = setUp();
  const lane = open("a", createShare(), 0.5);
  for (let index = 0; index < 20; index++) {
    lane.take(number(index));
    pass(5);
  }
  expect(order).toHaveLength(20);
  expect(rounds()).toBe(0);
});

test("an account that is alone may take the part of all, until another sends something", () => {
  const { open, order, pass, rounds, round } = setUp();
  const alone = open("alone ", createShare(), 1);
  const other = open("other ", createShare(), 0.1);
  const half = (from: number) => {
    for (let index = 0; index < 10; index++) {
      alone.take(number(from + index));
      pass(1);
    }
  };
  alone.take(number(-1));
  pass(1000);
  half(0);
  expect(rounds(), "half of the process").toBe(0);
  send(alone, 100, 10);
  // 8 ms, and four fifths of the time that passes meanwhile.
  expect(order.at(-1), "not all of it").toBe("alone 49");
  while (round());
  pass(1000);
  other.take(number(0));
  half(110);
  expect(rounds(), "half of the process, beside another").toBe(1);
});

test("a stream that sends too fast waits for its turns, in order, and another account's messages overtake it", () => {
  const { open, order, round } = setUp();
  const fast = open("fast ", createShare(), 1);
  const other = open("other ", createShare(), 0.1);
  send(fast, 100);
  // 2 ms, and what came back meanwhile.
  expect(order).toEqual(["fast 0", "fast 1", "fast 2"]);
  other.take(number(0));
  expect(order.at(-1)).toBe("other 0");
  for (let index = 1; index <= 10; index++) {
    round();
    other.take(number(index));
    expect(order.at(-1)).toBe(`other ${index}`);
  }
  // Rounds end, however much waits, so that what has arrived is read.
  expect(order.length).toBeLessThan(80);
  while (round());
  expect(order.filter((each) => each.startsWith("fast"))).toEqual(Array.from({ length: 100 }, (_, index) => `fast ${index}`));
});

test("accounts that all have messages waiting take turns of the same length, whatever their messages cost", () => {
  const { open, order, round, nowMs } = setUp();
  const shares = { short: createShare(), long: createShare() };
  const short = open("short ", shares.short, 0.25);
  const long = open("long ", shares.long, 8);
  send(short, 2_000);
  send(long, 100);
  order.length = 0;
  const before = { short: shares.short.workMs, long: shares.long.workMs };
  const startedMs = nowMs();
  while (nowMs() - startedMs < 320) round();
  const spent = { short: shares.short.workMs - before.short, long: shares.long.workMs - before.long };
  expect(spent.short / spent.long).toBeGreaterThan(0.9);
  expect(spent.short / spent.long).toBeLessThan(1.1);
});

test("an account's streams take turns, so that its fast stream does not delay its others", () => {
  const { open, order, round } = setUp();
  const share = createShare();
  const fast = open("fast ", share, 1);
  const slow = open("slow ", share, 1);
  send(fast, 50);
  send(slow, 2);
  while (!order.includes("slow 1")) round();
  expect(order.filter((each) => each.startsWith("fast")).length).toBeLessThan(8);
});

test("a stream with more than 64 KiB waiting is not read until it is empty", () => {
  const { open, events, round } = setUp();
  const lane = open("fast", createShare(), 3);
  const chunk = Buffer.alloc(16 * 1024);
  for (let index = 0; index < 5; index++) lane.take(chunk);
  expect(events).toEqual([]);
  lane.take(chunk);
  expect(events).toEqual(["fast paused"]);
  while (round());
  expect(events).toEqual(["fast paused", "fast resumed"]);
});

test("a stream ends after its last message, and a finished one gets none of those that wait", () => {
  const { open, order, events, round } = setUp();
  const ended = open("ended ", createShare(), 3);
  const closed = open("closed ", createShare(), 3);
  send(ended, 3);
  ended.end();
  send(closed, 3);
  closed.close();
  expect(events).toEqual([]);
  while (round());
  expect(events).toEqual(["ended  ended"]);
  expect(order).toEqual(["ended 0", "closed 0", "ended 1", "ended 2"]);
});

test("an account's waiting time is that of its next message", () => {
  const { open, pass, nowMs, round } = setUp();
  const share = createShare();
  const lane = open("a", share, 3);
  expect(waitedMs(share, nowMs())).toBe(0);
  send(lane, 3);
  pass(40);
  expect(waitedMs(share, nowMs())).toBe(40);
  while (round());
  expect(waitedMs(share, nowMs())).toBe(0);
});

test("after a message that held up everybody its account waits for as long, and others' requests pass (S40)", () => {
  const { open, order, round, pass } = setUp();
  const heavy = open("heavy ", createShare(), 150);
  const payer = open("payer ", createShare(), 0.1);
  send(heavy, 3);
  expect(order).toEqual(["heavy 0"]);
  // A request's messages, one after the other.
  for (let index = 0; index < 5; index++) {
    while (round());
    payer.take(number(index));
    pass(20);
  }
  expect(order).toEqual(["heavy 0", "payer 0", "payer 1", "payer 2", "payer 3", "payer 4"]);
  pass(50);
  while (round());
  expect(order.at(-1)).toBe("heavy 1");
  pass(149);
  expect(round()).toBe(false);
  pass(1);
  while (round());
  expect(order.at(-1)).toBe("heavy 2");
});

test("a message that comes while its account waits is handled after that", () => {
  const { open, order, round, pass } = setUp();
  const heavy = open("heavy ", createShare(), 30);
  send(heavy, 1);
  send(heavy, 1, 1);
  expect(round()).toBe(false);
  pass(30);
  while (round());
  expect(order).toEqual(["heavy 0", "heavy 1"]);
});

test("messages of an unknown account count for strangers, and are handled as they arrive", () => {
  let nowMs = 0;
  const turns = createTurns({ clock: { nowMs: () => nowMs }, defer: () => undefined, deferBy: () => undefined });
  const [strangers, account] = [createShare(), createShare()];
  const ignore = () => undefined;
  const lane = turns.lane({ handle: () => (nowMs += 3), ended: ignore, pause: ignore, resume: ignore }, strangers);
  send(lane, 10);
  expect([strangers.workMs, account.workMs]).toEqual([30, 0]);
  lane.payFrom(account);
  send(lane, 1);
  expect([strangers.workMs, account.workMs]).toEqual([30, 3]);
});
