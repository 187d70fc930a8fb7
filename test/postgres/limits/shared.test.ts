import { describe, expect, test } from "vitest";
import { GatewayError } from "../../../contract/errors.ts";
import type { Caller } from "../../../extproc/auth/authenticate.ts";
import { createLimits, type Limits } from "../../../extproc/limits/limits.ts";
import { createLimitTurns } from "../../../ledger/leases/limit-turns.ts";
import type { Database } from "../../../ledger/postgres/database.ts";
import { callerWith, impatientClock } from "../../support/billing/limited.ts";
import { usePostgres } from "../../support/billing/postgres.ts";

const postgres = usePostgres();
const START_MS = Date.parse("2026-11-21T10:20:05Z");
const nothing = { tokens: 0, nanoUsd: 0n };

/** Processes as extproc starts them, by a clock that only the test moves. */
function startReplicas(database: Database, count: number) {
  const clock = { now: START_MS };
  const start = (_: unknown, index: number) =>
    createLimits({
      clock: { nowMs: () => clock.now },
      monotonic: impatientClock(),
      turns: createLimitTurns(database, `replica-${index}`),
    });
  return { clock, replicas: Array.from({ length: count }, start) };
}

/** @returns how many of `times` were let in. */
async function begin(limits: Limits | undefined, caller: Caller, times: number): Promise<number> {
  let begun = 0;
  for (let time = 0; time < times; time++) {
    try {
      const request = await limits?.begin(caller, "chat", nothing);
      request?.end(nothing);
      begun++;
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
    }
  }
  return begun;
}

test("requests that run while their limit is removed and set again count once", async () => {
  const { replicas, clock } = startReplicas((await postgres.migrated()).database, 2);
  const [own, other] = replicas;
  const caller = callerWith({ concurrentRequests: 3 });
  const pass = async () => {
    clock.now += 1_000;
    for (const each of replicas) await each.share();
  };
  await begin(other, caller, 1);
  await pass();
  const running = [await own?.begin(caller, "chat", nothing), await own?.begin(caller, "chat", nothing)];
  await pass();
  own?.check(callerWith({}), "chat");
  await pass();
  expect([await begin(own, caller, 1), await begin(other, caller, 1)]).toEqual([1, 1]);
  await pass();
  expect([await begin(own, caller, 1), await begin(other, caller, 1)]).toContain(1);
  for (const each of running) each?.end(nothing);
});

describe("over three replicas that share every second (S23)", () => {
  test("one whose clients do not come does not keep the only slot from another", async () => {
    const { replicas, clock } = startReplicas((await postgres.migrated()).database, 3);
    const caller = callerWith({ concurrentRequests: 1 });
    for (const each of replicas) await begin(each, caller, 1);
    clock.now += 1_000;
    for (const each of replicas) await each.share();
    let served = 0;
    for (let turn = 0; turn < 9; turn++) {
      clock.now += 1_000;
      for (const each of replicas) await each.share();
      served += await begin(replicas[turn % 3], caller, 1);
    }
    expect(served).toBe(9);
  });

  test.for(["even", "one", "turning"] as const)("a limit of 100 lets through 98 to 102, with load that is %s", async (load) => {
    const { replicas, clock } = startReplicas((await postgres.migrated()).database, 3);
    const caller = callerWith({ requestsPerMinute: 100 });
    // They know the key, and one another, from the minute before.
    for (let turn = 0; turn < 2; turn++) {
      clock.now += 1_000;
      for (const each of replicas) await begin(each, caller, 1);
      for (const each of replicas) await each.share();
    }
    clock.now += 53_000;
    let begun = 0;
    for (let turn = 0; turn < 30; turn++) {
      clock.now += 1_000;
      const busy = load === "even" ? replicas : [replicas[load === "one" ? 0 : turn % 3]].filter((each) => each !== undefined);
      for (const each of busy) begun += await begin(each, caller, 50);
      for (const each of replicas) await each.share();
    }
    expect(begun).toBeGreaterThanOrEqual(98);
    expect(begun).toBeLessThanOrEqual(102);
  });
});
