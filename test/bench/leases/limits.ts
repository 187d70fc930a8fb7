import { setTimeout as sleep } from "node:timers/promises";
import { GatewayError } from "../../../contract/errors.ts";
import type { Caller } from "../../../extproc/auth/authenticate.ts";
import { startLimitExchange } from "../../../extproc/limits/limit-exchange.ts";
import { createLimits, type Limits } from "../../../extproc/limits/limits.ts";
import { createLimitTurns } from "../../../ledger/leases/limit-turns.ts";
import type { Database } from "../../../ledger/postgres/database.ts";
import { MONOTONIC } from "../../../runtime/clock.ts";
import type { Rounds } from "../../../runtime/wait.ts";
import { createLog } from "../../../runtime/log.ts";
import { worldKey } from "../../support/billing/world-key.ts";

export interface LimitsBench {
  database: Database;
  cpuMicros(work: () => Promise<void>): Promise<number>;
}

export interface LimitsCase {
  processes: number;
  accounts: number;
  requestsPerMinute: number;
}

/** A whole minute: processes report most when one begins. */
const SECONDS = 60;
const NOTHING = { tokens: 0, nanoUsd: 0n };
const log = createLog({ process: "bench", level: "warn" });
/** Each account has a request on each process once in so many seconds. */
const USED_EVERY = 4;

/** Every process has every account's clients, and takes its turn each second at a moment of its own, as extproc does. */
export async function measureLimits(
  { database, cpuMicros }: LimitsBench,
  { processes, accounts, requestsPerMinute }: LimitsCase,
): Promise<string[]> {
  const run = `${processes}-${requestsPerMinute}`;
  const callers = Array.from({ length: accounts }, (_, number) => callerOf(`${run}-${number}`, requestsPerMinute));
  const turnsMs: number[] = [];
  const exchanges: Rounds[] = [];
  let admitted = 0;

  async function live(index: number): Promise<void> {
    const limits = createLimits({
      clock: { nowMs: () => Date.now() },
      monotonic: MONOTONIC,
      turns: createLimitTurns(database, `${run}-process-${index}`),
    });
    await sleep((index * 1_000) / processes);
    const exchange = startLimitExchange({
      limits: {
        ...limits,
        async share() {
          const beforeMs = performance.now();
          await limits.share();
          turnsMs.push(performance.now() - beforeMs);
        },
      },
      log,
    });
    const startedMs = performance.now();
    const requests: Promise<void>[] = [];
    for (let second = 0; second < SECONDS; second++) {
      for (let number = second % USED_EVERY; number < accounts; number += USED_EVERY)
        requests.push(request(limits, callers[number]));
      await sleep(Math.max(0, startedMs + (second + 1) * 1_000 - performance.now()));
    }
    await Promise.all(requests);
    exchanges.push(exchange);
  }

  async function request(limits: Limits, caller: Caller | undefined): Promise<void> {
    if (caller === undefined) return;
    try {
      const begun = await limits.begin(caller, "chat", NOTHING);
      begun.end(NOTHING);
      admitted++;
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
    }
  }

  const startedMs = performance.now();
  const cpu = await cpuMicros(async () => void (await Promise.all(Array.from({ length: processes }, (_, index) => live(index)))));
  const seconds = (performance.now() - startedMs) / 1_000;
  // What processes report when they stop is not part of it.
  await Promise.all(exchanges.map((exchange) => exchange.stop()));
  turnsMs.sort((a, b) => a - b);
  const at = (part: number) => (turnsMs[Math.floor((turnsMs.length - 1) * part)] ?? 0).toFixed(0);
  return [
    String(processes),
    String(requestsPerMinute),
    `${(cpu / seconds / 10_000).toFixed(1)}%`,
    at(0.5),
    at(0.99),
    at(1),
    `${((admitted / accounts / requestsPerMinute / seconds) * 6_000).toFixed(1)}%`,
  ];
}

function callerOf(accountId: string, requestsPerMinute: number): Caller {
  return {
    key: worldKey({ publicId: accountId, accountId }),
    account: {
      accountId,
      isSuspended: false,
      postedNanoUsd: 0n,
      overdraftNanoUsd: 0n,
      version: 0n,
      limits: { requestsPerMinute },
    },
  };
}
