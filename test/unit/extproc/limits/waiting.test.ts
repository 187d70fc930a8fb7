import { expect, test } from "vitest";
import { GatewayError } from "../../../../contract/errors.ts";
import type { Limits as LimitSettings } from "../../../../contract/limits.ts";
import { createLimits, type LimitedRequest } from "../../../../extproc/limits/limits.ts";
import type { LimitUse } from "../../../../ledger/leases/limit-turns.ts";
import { MONOTONIC } from "../../../../runtime/clock.ts";
import { begun, callerWith } from "../../../support/billing/limited.ts";
import { worldKey } from "../../../support/billing/world-key.ts";

const START_MS = Date.parse("2026-11-21T10:20:25Z");
const NOTHING = { tokens: 0, nanoUsd: 0n };
const ONE_TOKEN = { tokens: 1, nanoUsd: 0n };

/** Of two processes the one whose first turn left it two requests of eight; the other has reserved the rest. */
async function startSecond(limited: LimitSettings = { requestsPerMinute: 8 }) {
  const caller = callerWith(limited);
  const grants: { use: bigint; usedByOthers: bigint }[] = [{ use: 1n, usedByOthers: 0n }];
  let isAway = false;
  let turns = 0;
  let used = 0n;
  let nowMs = START_MS;
  const limits = createLimits({
    clock: { nowMs: () => nowMs },
    monotonic: MONOTONIC,
    turns: {
      async take(uses: readonly LimitUse[]) {
        turns++;
        if (isAway) throw new Error("The database is away.");
        const { use, usedByOthers } = grants.shift() ?? { use: 0n, usedByOthers: 0n };
        for (const { added } of uses) used += added;
        return { grants: uses.map(() => ({ grantedUse: use, used: used + usedByOthers, running: 0n, term: 1n })), processes: 2 };
      },
      resolve: async () => false,
    },
  });
  /** One that is expected to use so many tokens, and does. */
  const begin = (tokens = 0) => limits.begin(caller, "chat", { tokens, nanoUsd: 0n });
  const share = () => {
    nowMs += 1_000;
    return limits.share();
  };
  begun(begin(1)).end(ONE_TOKEN);
  await share();
  begun(begin(1)).end(ONE_TOKEN);
  return {
    begin,
    share,
    untilWanted: limits.untilWanted,
    turns: () => turns,
    grant: (...next: typeof grants) => void grants.push(...next),
    goAway: () => void (isAway = true),
  };
}

async function refusalOf(request: LimitedRequest | Promise<LimitedRequest>): Promise<GatewayError> {
  try {
    await request;
  } catch (error) {
    if (error instanceof GatewayError) return error;
    throw error;
  }
  throw new Error("It was not refused.");
}

test("a request waits for the turn that admits it, however many that takes", async () => {
  const { begin, share, grant } = await startSecond();
  grant({ use: 0n, usedByOthers: 0n }, { use: 1n, usedByOthers: 0n });
  const request = begin();
  expect(request).toBeInstanceOf(Promise);
  await share();
  await share();
  expect((await request).headers).toMatchObject({ "x-ratelimit-remaining-requests": "5" });
});

test("the first request that waits asks for a turn at once", async () => {
  const { untilWanted, begin, share, grant } = await startSecond();
  grant({ use: 0n, usedByOthers: 6n });
  const request = refusalOf(begin());
  await untilWanted(1_000_000, new AbortController().signal);
  await share();
  expect((await request).code).toBe("rate_limited");
});

test("it is refused as soon as a turn shows that the others have used the rest", async () => {
  const { begin, share, grant } = await startSecond();
  grant({ use: 0n, usedByOthers: 6n });
  const request = refusalOf(begin());
  await share();
  expect((await request).headers).toMatchObject({ "retry-after": "33", "x-ratelimit-remaining-requests": "0" });
  expect(() => begin()).toThrow(GatewayError);
});

test("no more requests wait than the limit has left", async () => {
  const { begin, share, grant } = await startSecond();
  const waiting = Array.from({ length: 6 }, async () => await begin());
  const refusal = await refusalOf(begin());
  expect(refusal.message).toBe("This API key has reached its limit of 8 requests per minute. Try again in 1 s.");
  grant({ use: 6n, usedByOthers: 0n });
  await share();
  expect(await Promise.all(waiting)).toHaveLength(6);
});

test("requests that are expected to use nothing wait as others do", async () => {
  const { begin, share, grant } = await startSecond({ tokensPerMinute: 8 });
  const waiting = Array.from({ length: 6 }, async () => await begin());
  expect((await refusalOf(begin())).headers).toMatchObject({ "retry-after": "1" });
  grant({ use: 6n, usedByOthers: 0n });
  await share();
  expect(await Promise.all(waiting)).toHaveLength(6);
});

test("while the database is away, waiting requests are refused with the next turn, and later ones at once", async () => {
  const { begin, share, goAway, turns } = await startSecond();
  const request = refusalOf(begin());
  goAway();
  await expect(share()).rejects.toThrow("away");
  expect((await request).headers).toMatchObject({ "retry-after": "1" });
  const before = turns();
  expect((await refusalOf(begin())).headers).toMatchObject({ "retry-after": "1" });
  expect(turns()).toBe(before);
});

test("a request that meets another limit's running requests after a turn waits for one that reports that limit", async () => {
  const both = callerWith({ requestsPerMinute: 8 }, { concurrentRequests: 2 });
  const other = { ...callerWith({}), key: worldKey({ publicId: "other", limits: { concurrentRequests: 9 } }) };
  let left = 0n;
  let runElsewhere = 2n;
  let nowMs = START_MS;
  const reported: string[][] = [];
  const limits = createLimits({
    clock: { nowMs: () => nowMs },
    monotonic: MONOTONIC,
    turns: {
      async take(uses: readonly LimitUse[]) {
        reported.push(uses.map(({ subject, kind }) => `${subject.split(":", 1)[0]} ${kind}`));
        const grants = uses.map(({ kind, running }) =>
          kind === "requests"
            ? { grantedUse: left, used: 1n, running: 0n, term: 1n }
            : { grantedUse: 1n, used: running + runElsewhere, running: running + runElsewhere, term: 1n },
        );
        return { grants, processes: 2 };
      },
      resolve: async () => false,
    },
  });
  for (const caller of [other, both]) begun(limits.begin(caller, "chat", NOTHING)).end(NOTHING);
  nowMs += 1_000;
  await limits.share();
  const request = Promise.allSettled([limits.begin(both, "chat", NOTHING)]);
  runElsewhere = 0n;
  left = 1n;
  await limits.share();
  expect(reported.at(-1)).toEqual(["key requests", "key concurrent"]);
  // The request sees the turn's outcome before the next one begins.
  await new Promise(setImmediate);
  await limits.share();
  expect(reported.at(-1)).toContain("account concurrent");
  expect(await request).toMatchObject([{ status: "fulfilled" }]);
});
