import { expect, test } from "vitest";
import { GatewayError } from "../../../contract/errors.ts";
import type { Limits as LimitSettings } from "../../../contract/limits.ts";
import type { Caller } from "../../../extproc/auth/authenticate.ts";
import { startLimitExchange } from "../../../extproc/limits/limit-exchange.ts";
import { createLimits, type Limits } from "../../../extproc/limits/limits.ts";
import { createLimitTurns } from "../../../ledger/leases/limit-turns.ts";
import type { Database } from "../../../ledger/postgres/database.ts";
import { createLog } from "../../../runtime/log.ts";
import { callerWith } from "../../support/billing/limited.ts";
import { usePostgres } from "../../support/billing/postgres.ts";

const postgres = usePostgres();
/** Later in a minute than processes that have not used a limit in it may. */
const START_MS = Date.parse("2026-11-21T10:20:25Z");
const nothing = { tokens: 0, nanoUsd: 0n };
const log = createLog({ process: "limits", level: "silent" });

/** Two processes that have used a limit, and then have not for several turns. */
async function startIdle(database: Database, limits: LimitSettings) {
  const startedMs = performance.now();
  const clock = { nowMs: () => START_MS + Math.floor(performance.now() - startedMs) };
  // However slow the machine is, no request waits too long.
  const monotonic = { nowMs: () => 0 };
  const start = (holder: string) => createLimits({ clock, monotonic, turns: createLimitTurns(database, holder) });
  const processes = [start("one"), start("other")] as const;
  const caller = callerWith(limits);
  for (const each of processes) (await each.begin(caller, "chat", nothing)).end(nothing);
  for (let turn = 0; turn < 3; turn++) for (const each of processes) await each.share();
  return { caller, processes };
}

/** Requests that arrive at once. */
async function burst(limits: Limits, caller: Caller, requests: number) {
  const outcomes = await Promise.allSettled(
    Array.from({ length: requests }, async () => await limits.begin(caller, "chat", nothing)),
  );
  const refusals = outcomes.flatMap((outcome) => (outcome.status === "rejected" ? [outcome.reason] : []));
  return { begun: requests - refusals.length, refusals };
}

test.for([
  ["requests in flight", { concurrentRequests: 5 }, 5],
  ["requests per minute", { requestsPerMinute: 7 }, 5],
] as const)("a burst at one of two idle processes gets all %s that are left (S23)", async ([, settings, left]) => {
  const { caller, processes } = await startIdle((await postgres.migrated()).database, settings);
  const exchanges = processes.map((limits) => startLimitExchange({ limits, log }));
  try {
    const { begun, refusals } = await burst(processes[0], caller, 8);
    expect(begun).toBe(left);
    for (const refusal of refusals) expect(refusal).toBeInstanceOf(GatewayError);
    const other = await burst(processes[1], caller, 8);
    // It may have kept one for itself, beside the last one.
    expect(other.begun).toBeLessThanOrEqual(1);
  } finally {
    await Promise.all(exchanges.map((exchange) => exchange.stop()));
  }
});

test("requests of one process that may cost the rest of a limit make those of the other wait, and do not use it up (S23)", async () => {
  const { caller, processes } = await startIdle((await postgres.migrated()).database, { spendPerDayUsd: "0.001" });
  const [own, other] = processes;
  // The other process keeps a quarter to begin with.
  const running = await own.begin(caller, "chat", { tokens: 0, nanoUsd: 1_000_000n });
  await own.share();
  await other.share();
  const refused = burst(other, caller, 1);
  await other.share();
  expect((await refused).refusals).toMatchObject([{ code: "rate_limited", headers: { "retry-after": "5" } }]);
  running.end({ tokens: 0, nanoUsd: 1_000n });
  await own.share();
  const waiting = other.begin(caller, "chat", { tokens: 0, nanoUsd: 999_000n });
  await other.share();
  (await waiting).end({ tokens: 0, nanoUsd: 999_000n });
  await other.share();
  await own.share();
  const { refusals } = await burst(own, caller, 1);
  expect(refusals).toMatchObject([{ code: "rate_limited", headers: { "x-should-retry": "false" } }]);
});
