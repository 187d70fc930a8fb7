import { expect, test } from "vitest";
import { createAccountLoad, type AccountLoad } from "../../../../extproc/load/account-load.ts";
import { createAdmission, type AdmissionRefusal } from "../../../../extproc/load/admission.ts";
import { createShare } from "../../../../extproc/load/turns.ts";

interface Work {
  /** Of the last seconds, ms. */
  [account: string]: number;
}

/** A process on which the accounts have done so much in the last seconds. */
function setUp({
  maxOpen = 1_000,
  lateMs = () => 0,
  busyPart = () => 1,
  work = {},
  strangersMs = 0,
}: {
  maxOpen?: number;
  lateMs?: () => number;
  busyPart?: () => number;
  work?: Work;
  /** Of callers without a key. */
  strangersMs?: number;
}) {
  const refusals: AdmissionRefusal[] = [];
  const loads = new Map<string, AccountLoad>();
  const of = (account: string) => {
    const load = loads.get(account) ?? createAccountLoad();
    loads.set(account, load);
    return load;
  };
  for (const [account, workMs] of Object.entries(work)) of(account).share.workMs = workMs;
  let nowMs = 0;
  const strangers = createShare();
  strangers.workMs = strangersMs;
  const admission = createAdmission({
    loads: {
      strangers,
      get size() {
        return [...loads.values()].filter(({ share }) => share.workMs >= 20).length;
      },
      get workMs() {
        return [...loads.values()].reduce((sum, { share }) => sum + share.workMs, 0);
      },
    },
    maxOpen,
    clock: { nowMs: () => nowMs },
    lateness: {
      get meanMs() {
        return lateMs();
      },
      get busyPart() {
        return busyPart();
      },
    },
    onRefused: (reason) => refusals.push(reason),
  });
  return {
    refusals,
    of,
    pass: (ms: number) => (nowMs += ms),
    enter: (account: string, times = 1) => Array.from({ length: times }, () => admission.enter(of(account))),
  };
}

test("a full process refuses, with a retry time, until a request leaves", () => {
  const { enter, refusals } = setUp({ maxOpen: 8 });
  const slots = ["a", "b", "c", "d"].flatMap((account) => enter(account, 2));
  expect(() => enter("e")).toThrow(expect.objectContaining({ code: "overloaded", status: 503, headers: { "retry-after": "1" } }));
  slots[0]?.release();
  expect(() => enter("e")).not.toThrow();
  expect(refusals).toEqual(["full"]);
});

test("one account fills at most half of the slots, and leaves the rest to others", () => {
  const { enter } = setUp({ maxOpen: 16 });
  enter("flood", 8);
  expect(() => enter("flood")).toThrow(
    expect.objectContaining({ code: "rate_limited", message: expect.stringContaining("8 requests in flight") }),
  );
  for (const account of ["b", "c"]) {
    enter(account, 4);
    expect(() => enter(account)).toThrow(expect.objectContaining({ status: account === "c" ? 503 : 429 }));
  }
});

test("a slot is released once, however often it is requested", () => {
  const { enter } = setUp({ maxOpen: 2 });
  const [first] = enter("a");
  first?.release();
  first?.release();
  enter("a");
  enter("b");
  expect(() => enter("c")).toThrow(expect.objectContaining({ code: "overloaded" }));
});

test("a strained process refuses the account that caused most of its work, and states the share; open requests do not count", () => {
  let lateMs = 0;
  const { enter, refusals } = setUp({ lateMs: () => lateMs, work: { "fast streams": 900, "many slow streams": 100 } });
  enter("fast streams", 16);
  enter("many slow streams", 300);
  lateMs = 20;
  expect(() => enter("fast streams")).toThrow(
    expect.objectContaining({
      code: "rate_limited",
      headers: { "retry-after": "1" },
      message:
        "The gateway is busy, and 90% of its recent work was for your account. Send fewer requests at a time, or try again in a moment.",
    }),
  );
  expect(() => enter("many slow streams")).not.toThrow();
  expect(() => enter("newcomer")).not.toThrow();
  expect(refusals).toEqual(["work"]);
});

test("accounts that share the work evenly are not refused, nor is one with more next to one that has all it wants", () => {
  const { enter } = setUp({ lateMs: () => 60, work: { "fast stream": 800, customer: 1_200 } });
  for (const account of ["fast stream", "customer"]) expect(() => enter(account, 24)).not.toThrow();
});

test("of many accounts, one with more than two even shares is refused", () => {
  const others = Object.fromEntries(Array.from({ length: 9 }, (_, number) => [`other ${number}`, 150]));
  let lateMs = 0;
  const { enter } = setUp({ lateMs: () => lateMs, work: { ...others, flood: 400 } });
  enter("flood", 16);
  lateMs = 20;
  for (const account of Object.keys(others)) expect(() => enter(account)).not.toThrow();
  expect(() => enter("flood")).toThrow(expect.objectContaining({ code: "rate_limited" }));
});

test("an account whose own messages wait is refused before the process is late", () => {
  const { enter, of } = setUp({ work: { flood: 900, customer: 10 } });
  enter("customer");
  enter("flood", 16);
  of("flood").share.waiting.push({ sinceMs: -20, next: () => false });
  expect(() => enter("flood")).toThrow(expect.objectContaining({ code: "rate_limited" }));
  expect(() => enter("customer")).not.toThrow();
});

test("an account that is alone may strain the process, until another one asks; and again once the other has stopped", () => {
  const { enter, pass } = setUp({ lateMs: () => 100, work: { alone: 2_000, other: 10 } });
  expect(() => enter("alone", 100)).not.toThrow();
  const [visit] = enter("other");
  expect(() => enter("alone")).toThrow(expect.objectContaining({ code: "rate_limited" }));
  visit?.release();
  pass(2_000);
  expect(() => enter("alone")).toThrow(expect.objectContaining({ code: "rate_limited" }));
  pass(1);
  expect(() => enter("alone")).not.toThrow();
});

test("a machine that is slow for other reasons refuses nobody who uses little of the process", () => {
  const { enter } = setUp({ lateMs: () => 200, work: { steady: 199, other: 1 } });
  enter("other");
  expect(() => enter("steady")).not.toThrow();
});

test("a process that is late on a slow machine, and has little to do, refuses nobody", () => {
  let busy = 0.89;
  const { enter } = setUp({ lateMs: () => 400, busyPart: () => busy, work: { customer: 900, other: 100 } });
  for (const account of ["other", "customer"]) expect(() => enter(account, 16)).not.toThrow();
  busy = 0.9;
  expect(() => enter("customer")).toThrow(expect.objectContaining({ code: "rate_limited" }));
});

test("an account with few running requests is refused only if it uses half of the process", () => {
  const { enter, of } = setUp({ lateMs: () => 200, work: { "a few at once": 999, other: 1 } });
  enter("other");
  expect(() => enter("a few at once", 16)).not.toThrow();
  expect(() => enter("a few at once")).toThrow(expect.objectContaining({ code: "rate_limited" }));
  of("heavy").share.workMs = 5_000;
  expect(() => enter("heavy")).toThrow(expect.objectContaining({ code: "rate_limited" }));
});

test("a process that is far behind refuses the accounts it works for, and still accepts those it has hardly worked for", () => {
  const { enter, refusals } = setUp({ lateMs: () => 250, work: { alone: 500 } });
  expect(() => enter("alone")).toThrow(expect.objectContaining({ code: "overloaded" }));
  expect(() => enter("newcomer")).not.toThrow();
  expect(refusals).toEqual(["late"]);
});

test("a process made late by one account's streams refuses that account, and keeps serving another", () => {
  const { enter } = setUp({ lateMs: () => 400, work: { "fast streams": 1_600, customer: 300 } });
  expect(() => enter("customer", 12)).not.toThrow();
  expect(() => enter("fast streams")).toThrow(expect.objectContaining({ code: "rate_limited" }));
});

test("a stuck process refuses everybody if no account stands out", () => {
  const { enter } = setUp({ lateMs: () => 1_000, work: { one: 10, other: 10 } });
  for (const account of ["newcomer", "one"]) {
    expect(() => enter(account)).toThrow(expect.objectContaining({ code: "overloaded" }));
  }
});

test("a process that one account's heavy messages have stuck serves the others, and refuses that one", () => {
  const { enter, refusals } = setUp({ lateMs: () => 3_000, work: { heavy: 1_500, customer: 19 } });
  for (const account of ["newcomer", "customer"]) expect(() => enter(account, 12)).not.toThrow();
  expect(() => enter("heavy")).toThrow(expect.objectContaining({ code: "rate_limited" }));
  expect(refusals).toEqual(["work"]);
});

test("a process that is stuck because its machine is slow refuses nobody", () => {
  const { enter } = setUp({ lateMs: () => 1_000, busyPart: () => 0.5 });
  expect(() => enter("newcomer")).not.toThrow();
});

test("a flood of callers without a key gets no customer refused, however late the process is", () => {
  const flooded = setUp({ lateMs: () => 2_000, work: { payer: 100 }, strangersMs: 1_500 });
  expect(() => flooded.enter("payer")).not.toThrow();
  const own = setUp({ lateMs: () => 2_000, work: { payer: 1_500 }, strangersMs: 100 });
  expect(() => own.enter("payer")).toThrow("at capacity");
  expect(own.refusals).toEqual(["late"]);
});
