import { describe, expect, test } from "vitest";
import { GatewayError } from "../../../../contract/errors.ts";
import type { Limits as LimitSettings } from "../../../../contract/limits.ts";
import type { Caller } from "../../../../extproc/auth/authenticate.ts";
import { createLimits, type Limits } from "../../../../extproc/limits/limits.ts";
import type { LimitUse } from "../../../../ledger/leases/limits.ts";

const START_MS = Date.parse("2026-11-21T10:20:05Z");
const nothing = { tokens: 0, nanoUsd: 0n };

function callerWith(ofKey: LimitSettings, ofAccount: LimitSettings = {}): Caller {
  return {
    key: {
      publicId: "key",
      accountId: "acme",
      secretHash: Buffer.alloc(32),
      previousSecret: null,
      isDisabled: false,
      isUnreadable: false,
      expiresAt: null,
      allowedModels: null,
      limits: ofKey,
    },
    account: { accountId: "acme", isSuspended: false, postedNanoUsd: 0n, overdraftNanoUsd: 0n, version: 0n, limits: ofAccount },
  };
}

/** So many processes, as the table of uses joins them. */
function startReplicas(count: number) {
  const clock = { now: START_MS };
  const known = new Map<number, readonly (LimitUse & { claimed: bigint })[]>();
  const replicas = Array.from({ length: count }, (_, index) =>
    createLimits({
      clock: { nowMs: () => clock.now },
      async claim({ uses, claim }) {
        const theirs = [...known].filter(([other]) => other !== index).flatMap(([, each]) => each);
        const others = uses.map((use) => {
          const same = theirs.filter(
            (each) => each.subject === use.subject && each.kind === use.kind && each.periodStartMs === use.periodStartMs,
          );
          const sum = (read: (each: (typeof same)[number]) => bigint) => same.reduce((all, each) => all + read(each), 0n);
          return { used: sum(({ used }) => used), claimed: sum(({ claimed }) => claimed), met: same.length };
        });
        const claimed = claim(others, count);
        known.set(
          index,
          uses.map((use, position) => ({ ...use, claimed: claimed[position] ?? 0n })),
        );
      },
    }),
  );
  return { clock, replicas };
}

function startOne() {
  const { clock, replicas } = startReplicas(1);
  const [limits] = replicas;
  if (limits === undefined) throw new Error("there is one replica");
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
  let begun = 0;
  for (let time = 0; time < times; time++) {
    try {
      limits.begin(caller, "chat", nothing).end(nothing);
      begun++;
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
    }
  }
  return begun;
}

test("without limits nothing is counted and no headers are sent", () => {
  const { limits } = startOne();
  expect(limits.begin(callerWith({}), "chat", nothing).headers).toEqual({});
});

test("requests a minute: the one too many is a 429 that names the limit and the seconds to the next minute", () => {
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

test("messages clients get their protocol's headers", () => {
  const { limits } = startOne();
  const { headers } = limits.begin(callerWith({ requestsPerMinute: 5, tokensPerMinute: 100 }), "messages", {
    tokens: 30,
    nanoUsd: 0n,
  });
  expect(headers).toEqual({
    "anthropic-ratelimit-requests-limit": "5",
    "anthropic-ratelimit-requests-remaining": "4",
    "anthropic-ratelimit-requests-reset": "2026-11-21T10:21:00Z",
    "anthropic-ratelimit-tokens-limit": "100",
    "anthropic-ratelimit-tokens-remaining": "70",
    "anthropic-ratelimit-tokens-reset": "2026-11-21T10:21:00Z",
  });
});

test("tokens a minute count as expected at first and as used at the end", () => {
  const { limits } = startOne();
  const caller = callerWith({ tokensPerMinute: 100 });
  const first = limits.begin(caller, "chat", { tokens: 90, nanoUsd: 0n });
  first.end({ tokens: 20, nanoUsd: 0n });
  limits.begin(caller, "chat", { tokens: 80, nanoUsd: 0n });
  expect(refusalOf(() => limits.check(caller, "chat")).message).toContain("100 tokens per minute");
});

test("concurrent requests: another may begin when one has ended", () => {
  const { limits } = startOne();
  const caller = callerWith({ concurrentRequests: 2 });
  const first = limits.begin(caller, "chat", nothing);
  limits.begin(caller, "chat", nothing);
  const refusal = refusalOf(() => limits.check(caller, "chat"));
  expect(refusal.message).toBe("This API key already has 2 requests in flight, its limit. Try again in 1 s.");
  first.end(nothing);
  limits.check(caller, "chat");
});

describe.for([
  ["day", { spendPerDayUsd: "0.001" }, "2026-11-22T00:00:00Z"],
  ["month", { spendPerMonthUsd: "0.001" }, "2026-12-01T00:00:00Z"],
] as const)("spend a %s", ([period, settings, resetsAt]) => {
  test("counts what running requests may cost and later what they did, until the UTC period ends", () => {
    const { limits, clock } = startOne();
    const caller = callerWith(settings);
    const first = limits.begin(caller, "chat", { tokens: 0, nanoUsd: 1_000_000n });
    expect(refusalOf(() => limits.check(caller, "chat")).message).toContain(`spending limit for the ${period}`);
    first.end({ tokens: 0, nanoUsd: 400_000n });
    limits.begin(caller, "chat", { tokens: 0, nanoUsd: 600_000n });
    const waitSeconds = (Date.parse(resetsAt) - START_MS) / 1000;
    expect(refusalOf(() => limits.check(caller, "chat")).headers["retry-after"]).toBe(String(waitSeconds));
    clock.now = Date.parse(resetsAt);
    limits.check(caller, "chat");
  });
});

test("a key's limit and its account's both hold, and the text says whose it was", () => {
  const { limits } = startOne();
  const caller = callerWith({ requestsPerMinute: 10 }, { requestsPerMinute: 2 });
  expect(begin(limits, caller, 5)).toBe(2);
  expect(refusalOf(() => limits.check(caller, "chat")).message).toContain("This account has reached its limit of 2 requests");
});

test("a request that did not run leaves nothing counted", () => {
  const { limits } = startOne();
  const caller = callerWith({ requestsPerMinute: 1, tokensPerMinute: 10, concurrentRequests: 1, spendPerDayUsd: "0.1" });
  limits.begin(caller, "chat", { tokens: 10, nanoUsd: 100_000_000n }).cancel();
  limits.check(caller, "chat");
});

test("a limit that is changed holds at once", () => {
  const { limits } = startOne();
  expect(begin(limits, callerWith({ requestsPerMinute: 5 }), 5)).toBe(5);
  expect(begin(limits, callerWith({ requestsPerMinute: 7 }), 5)).toBe(2);
  expect(begin(limits, callerWith({}), 5)).toBe(5);
});

describe("over three replicas that meet each second", () => {
  test("one whose clients do not come does not keep the only place from another", async () => {
    const { replicas, clock } = startReplicas(3);
    const caller = callerWith({ concurrentRequests: 1 });
    for (const each of replicas) begin(each, caller, 1);
    for (const each of replicas) await each.share();
    let served = 0;
    for (let turn = 0; turn < 9; turn++) {
      clock.now += 1_000;
      for (const each of replicas) await each.share();
      served += begin(replicas[turn % 3] ?? startOne().limits, caller, 1);
    }
    expect(served).toBe(9);
  });

  test.for(["even", "one", "turning"] as const)("a limit of 100 lets through 98 to 102, with load that is %s", async (load) => {
    const { replicas, clock } = startReplicas(3);
    const caller = callerWith({ requestsPerMinute: 100 });
    // They know the key, and one another, from the minute before.
    for (let turn = 0; turn < 2; turn++) {
      for (const each of replicas) begin(each, caller, 1);
      for (const each of replicas) await each.share();
    }
    clock.now += 55_000;
    let begun = 0;
    for (let turn = 0; turn < 30; turn++) {
      clock.now += 1_000;
      const busy = load === "even" ? replicas : [replicas[load === "one" ? 0 : turn % 3]].filter((each) => each !== undefined);
      for (const each of busy) begun += begin(each, caller, 50);
      for (const each of replicas) await each.share();
    }
    expect(begun).toBeGreaterThanOrEqual(98);
    expect(begun).toBeLessThanOrEqual(102);
  });
});
