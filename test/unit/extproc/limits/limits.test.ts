import { describe, expect, test } from "vitest";
import { GatewayError } from "../../../../contract/errors.ts";
import type { Caller } from "../../../../extproc/auth/authenticate.ts";
import { createLimits, type Limits } from "../../../../extproc/limits/limits.ts";
import { MONOTONIC } from "../../../../runtime/clock.ts";
import { begun, callerWith } from "../../../support/billing/limited.ts";

const START_MS = Date.parse("2026-11-21T10:20:05Z");
const nothing = { tokens: 0, nanoUsd: 0n };

/** It never takes a turn: over several processes see test/postgres/limits/shared.test.ts. */
function startOne() {
  const clock = { now: START_MS };
  const unused = () => Promise.reject(new Error("no turn is taken"));
  const limits = createLimits({
    clock: { nowMs: () => clock.now },
    monotonic: MONOTONIC,
    turns: { take: unused, resolve: unused },
  });
  return { clock, limits };
}

function refusalOf(work: () => unknown): GatewayError {
  try {
    work();
  } catch (error) {
    if (error instanceof GatewayError) return error;
    throw error;
  }
  throw new Error("it was not refused");
}

/** @returns how many of `times` were let in. */
function begin(limits: Limits, caller: Caller, times: number): number {
  let count = 0;
  for (let time = 0; time < times; time++) {
    try {
      begun(limits.begin(caller, "chat", nothing)).end(nothing);
      count++;
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
    }
  }
  return count;
}

test("without limits nothing is counted and no headers are sent", () => {
  const { limits } = startOne();
  expect(begun(limits.begin(callerWith({}), "chat", nothing)).headers).toEqual({});
});

test("requests per minute: one too many is a 429 that names the limit and the seconds to the next minute", () => {
  const { limits, clock } = startOne();
  const caller = callerWith({ requestsPerMinute: 3 });
  expect(begin(limits, caller, 10)).toBe(3);
  const refusal = refusalOf(() => limits.check(caller, "chat"));
  expect(refusal).toMatchObject({ code: "rate_limited", status: 429 });
  expect(refusal.message).toBe("This API key has reached its limit of 3 requests per minute. Try again in 55 s.");
  expect(refusal.headers).toEqual({
    "retry-after": "55",
    "x-ratelimit-limit-requests": "3",
    "x-ratelimit-remaining-requests": "0",
    "x-ratelimit-reset-requests": "55s",
  });
  clock.now += 55_000;
  expect(begin(limits, caller, 10)).toBe(3);
});

test("a clock that is set back by seconds stays in its minute, and one that was an hour ahead does not stay there for an hour", () => {
  const { limits, clock } = startOne();
  const caller = callerWith({ requestsPerMinute: 3 });
  clock.now += 56_000;
  expect(begin(limits, caller, 10)).toBe(3);
  clock.now -= 5_000;
  expect(begin(limits, caller, 10)).toBe(0);
  clock.now += 60 * 60_000;
  expect(begin(limits, caller, 10)).toBe(3);
  clock.now -= 60 * 60_000 - 10_000;
  expect(begin(limits, caller, 10)).toBe(3);
  expect(begin(limits, caller, 10)).toBe(0);
  clock.now += 60_000;
  expect(begin(limits, caller, 10)).toBe(3);
});

test("messages clients get their protocol's headers", () => {
  const { limits } = startOne();
  const { headers } = begun(
    limits.begin(callerWith({ requestsPerMinute: 5, tokensPerMinute: 100 }), "messages", {
      tokens: 30,
      nanoUsd: 0n,
    }),
  );
  expect(headers).toEqual({
    "anthropic-ratelimit-requests-limit": "5",
    "anthropic-ratelimit-requests-remaining": "4",
    "anthropic-ratelimit-requests-reset": "2026-11-21T10:21:00Z",
    "anthropic-ratelimit-tokens-limit": "100",
    "anthropic-ratelimit-tokens-remaining": "70",
    "anthropic-ratelimit-tokens-reset": "2026-11-21T10:21:00Z",
  });
});

test("tokens per minute count as expected at first and as used at the end", () => {
  const { limits } = startOne();
  const caller = callerWith({ tokensPerMinute: 100 });
  const first = begun(limits.begin(caller, "chat", { tokens: 90, nanoUsd: 0n }));
  first.end({ tokens: 20, nanoUsd: 0n });
  begun(limits.begin(caller, "chat", { tokens: 80, nanoUsd: 0n }));
  expect(refusalOf(() => limits.check(caller, "chat")).message).toContain("100 tokens per minute");
});

test("concurrent requests: another may begin when one has ended", () => {
  const { limits } = startOne();
  const caller = callerWith({ concurrentRequests: 2 });
  const first = begun(limits.begin(caller, "chat", nothing));
  begun(limits.begin(caller, "chat", nothing));
  const refusal = refusalOf(() => limits.check(caller, "chat"));
  expect(refusal.message).toBe("This API key already has 2 requests in flight, its limit. Try again in 1 s.");
  first.end(nothing);
  limits.check(caller, "chat");
});

test.for([
  ["set for the first time", {}],
  ["removed and set again", { concurrentRequests: 2 }],
  ["set again beside another one", { concurrentRequests: 2, requestsPerMinute: 100 }],
] as const)("a limit of concurrent requests counts those that run when it is %s", ([, before]) => {
  const { limits } = startOne();
  const first = begun(limits.begin(callerWith(before), "chat", nothing));
  const second = begun(limits.begin(callerWith({ requestsPerMinute: 100 }), "chat", nothing));
  limits.check(callerWith({}), "chat");
  const caller = callerWith({ concurrentRequests: 2 }, { concurrentRequests: 2 });
  expect(refusalOf(() => limits.check(caller, "chat")).message).toContain("2 requests in flight");
  first.end(nothing);
  limits.check(caller, "chat");
  const third = begun(limits.begin(caller, "chat", nothing));
  expect(refusalOf(() => limits.check(caller, "chat")).message).toContain("2 requests in flight");
  second.cancel();
  third.end(nothing);
  expect(begin(limits, caller, 4), "one after the other").toBe(4);
});

describe.for([
  ["day", { spendPerDayUsd: "0.001" }, "2026-11-22T00:00:00Z"],
  ["month", { spendPerMonthUsd: "0.001" }, "2026-12-01T00:00:00Z"],
] as const)("spend a %s", ([period, settings, resetsAt]) => {
  test("counts the actual cost until the UTC period ends; SDKs do not sleep until then", () => {
    const { limits, clock } = startOne();
    const caller = callerWith(settings);
    begun(limits.begin(caller, "chat", { tokens: 0, nanoUsd: 1_000_000n })).end({ tokens: 0, nanoUsd: 400_000n });
    begun(limits.begin(caller, "chat", { tokens: 0, nanoUsd: 600_000n })).end({ tokens: 0, nanoUsd: 600_000n });
    const waitSeconds = (Date.parse(resetsAt) - START_MS) / 1000;
    const { headers, message } = refusalOf(() => limits.check(caller, "chat"));
    expect(message).toContain(`has reached its spending limit for the ${period} (UTC).`);
    expect(message).toMatch(/Try again in \d{1,2} (hours|days)\.$/);
    expect(headers).toEqual({ "retry-after": String(waitSeconds), "x-should-retry": "false" });
    clock.now = Date.parse(resetsAt) - 600_000;
    const soon = refusalOf(() => limits.check(caller, "chat"));
    expect(soon.headers).toEqual({ "retry-after": "600" });
    expect(soon.message).toContain("Try again in 10 minutes.");
    clock.now = Date.parse(resetsAt);
    limits.check(caller, "chat");
  });

  test("waits for running requests that may cost the rest of it", () => {
    const { limits } = startOne();
    const caller = callerWith(settings);
    const first = begun(limits.begin(caller, "chat", { tokens: 0, nanoUsd: 300_000n }));
    const second = begun(limits.begin(caller, "chat", { tokens: 0, nanoUsd: 700_000n }));
    const { headers, message } = refusalOf(() => limits.check(caller, "chat"));
    const reason = `has requests in flight that may use up its spending limit for the ${period} (UTC)`;
    expect(message).toBe(`This API key ${reason}. Try again in 5 s.`);
    expect(headers).toEqual({ "retry-after": "5" });
    first.end({ tokens: 0, nanoUsd: 1_000n });
    const third = begun(limits.begin(caller, "chat", { tokens: 0, nanoUsd: 299_000n }));
    refusalOf(() => limits.check(caller, "chat"));
    third.cancel();
    limits.check(caller, "chat");
    second.end({ tokens: 0, nanoUsd: 999_000n });
    expect(refusalOf(() => limits.check(caller, "chat")).headers).toMatchObject({ "x-should-retry": "false" });
  });

  test("counts a request in the period in which it ends", () => {
    const { limits, clock } = startOne();
    const caller = callerWith(settings);
    const request = begun(limits.begin(caller, "chat", { tokens: 0, nanoUsd: 1_000_000n }));
    clock.now = Date.parse(resetsAt);
    expect(refusalOf(() => limits.check(caller, "chat")).headers).toEqual({ "retry-after": "5" });
    request.end({ tokens: 0, nanoUsd: 999_999n });
    begun(limits.begin(caller, "chat", nothing)).end({ tokens: 0, nanoUsd: 1n });
    expect(refusalOf(() => limits.check(caller, "chat")).headers).toMatchObject({ "x-should-retry": "false" });
  });
});

test.for([
  ["requestsPerMinute", 0, "its limit of 0 requests per minute."],
  ["tokensPerMinute", 0, "its limit of 0 tokens per minute."],
  ["concurrentRequests", 0, "already has 0 requests in flight, its limit."],
  ["spendPerDayUsd", "0", "its spending limit for the day (UTC)."],
] as const)("nobody is told to wait for a limit of 0 (%s)", ([name, limit, words]) => {
  const { limits } = startOne();
  const { headers, message } = refusalOf(() => limits.check(callerWith({ [name]: limit }), "chat"));
  expect(message).toContain(words);
  expect(message).toMatch(/ It accepts no requests until the limit is raised\.$/);
  expect(headers).toMatchObject({ "x-should-retry": "false" });
  expect(headers).not.toHaveProperty("retry-after");
});

test("a limit of one is in the singular", () => {
  const { limits } = startOne();
  const caller = callerWith({ requestsPerMinute: 1 });
  begun(limits.begin(caller, "chat", nothing));
  expect(refusalOf(() => limits.check(caller, "chat")).message).toContain("its limit of 1 request per minute.");
});

test("a key's limit and its account's both apply, and the message names whose it was", () => {
  const { limits } = startOne();
  const caller = callerWith({ requestsPerMinute: 10 }, { requestsPerMinute: 2 });
  expect(begin(limits, caller, 5)).toBe(2);
  expect(refusalOf(() => limits.check(caller, "chat")).message).toContain("This account has reached its limit of 2 requests");
});

test("a request that did not run is not counted", () => {
  const { limits } = startOne();
  const caller = callerWith({ requestsPerMinute: 1, tokensPerMinute: 10, concurrentRequests: 1, spendPerDayUsd: "0.1" });
  begun(limits.begin(caller, "chat", { tokens: 10, nanoUsd: 100_000_000n })).cancel();
  limits.check(caller, "chat");
});

test("a changed limit applies at once", () => {
  const { limits } = startOne();
  expect(begin(limits, callerWith({ requestsPerMinute: 5 }), 5)).toBe(5);
  expect(begin(limits, callerWith({ requestsPerMinute: 7 }), 5)).toBe(2);
  expect(begin(limits, callerWith({}), 5)).toBe(5);
});

test("limits are checked in the schema's order, even if an earlier one is set later", () => {
  const { limits } = startOne();
  begun(limits.begin(callerWith({ tokensPerMinute: 10, concurrentRequests: 1 }), "chat", { tokens: 10, nanoUsd: 0n }));
  const caller = callerWith({ requestsPerMinute: 0, tokensPerMinute: 10, concurrentRequests: 1 });
  expect(refusalOf(() => limits.check(caller, "chat")).message).toContain("0 requests per minute");
  expect(refusalOf(() => limits.check(callerWith({ tokensPerMinute: 10, concurrentRequests: 1 }), "chat")).message).toContain(
    "10 tokens per minute",
  );
});
