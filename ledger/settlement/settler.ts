import { createLog, type Logger } from "../../runtime/log.ts";
import { createOutage } from "../../runtime/outage.ts";
import type { Database } from "../postgres/database.ts";
import { formatNanoUsd } from "../money.ts";
import { createPartitionsAhead } from "../postgres/partitions.ts";
import { isDataRefused, isLockTimeout, isStatementTimeout } from "../postgres/postgres-error.ts";
import { settle, UnknownAccountError, type SettleResult } from "./settle.ts";
import type { Settlement } from "./settlement.ts";
import { createSettlementQueue } from "./settlement-queue.ts";
import { MONOTONIC } from "../../runtime/clock.ts";
import { backOffMs, createWakeUp } from "../../runtime/wait.ts";

/** Writes settlements to Postgres in batches, after the requests. */
export interface Settler {
  /** Accepts it permanently. Never waits, never throws. */
  add(settlement: Settlement): void;
  /**
   * Charges of an account that are not in its posted balance yet, nano-USD. Excludes settlements that Postgres rejects: one may
   * have an amount that no account can pay, and would block this account's credit.
   */
  readonly pendingNanoUsd: (accountId: string) => bigint;
  /** Settlements that wait for Postgres. */
  readonly queued: number;
  /** Settlements that Postgres rejects: kept, logged, and retried with later batches. */
  readonly refused: number;
  /** More are queued than `maxQueued`: no new requests should be admitted. Running ones must still be added. */
  readonly isFull: boolean;
  /** Settles everything queued, without waiting for full batches; settlements left after `withinMs` are logged. */
  drain(withinMs: number): Promise<void>;
}

export interface SettlerOptions {
  database: Database;
  /** How long settlements are collected into a batch. */
  flushMs?: number;
  maxBatch?: number;
  maxQueued?: number;
  /** Whose days partitions are made for. */
  clock?: { nowMs(): number };
  /** Monotonic. */
  steady?: { nowMs(): number };
  log?: Logger;
  /** These settlements are committed, now or before. */
  readonly onSettled?: (result: SettleResult, settlements: readonly Settlement[]) => void;
  /** A batch failed and is retried, or a single settlement was rejected. */
  readonly onFailed?: (failure: { error: unknown; isRefused: boolean; settlements: number }) => void;
}

const RETRY = { firstMs: 100, maxMs: 5_000 } as const;
const RETRY_AT_SHUTDOWN = { firstMs: 100, maxMs: 500 } as const;
const RETRY_REFUSED_MS = 60_000;
const LANES_FROM = 1_000;
const PARTITIONS_AHEAD_DAYS = 4;
const MAX_NAMED = 10;
/** Of a turn: enough to find one account in each of two lanes whose rows are held. */
const MAX_LOCK_TIMEOUTS = 32;

export function createSettler({
  database,
  flushMs = 500,
  maxBatch = 3_000,
  maxQueued = 100_000,
  clock = { nowMs: () => Date.now() },
  steady = MONOTONIC,
  log = createLog({ process: "settler", level: "silent" }),
  onSettled = () => {},
  onFailed = () => {},
}: SettlerOptions): Settler {
  const queue = createSettlementQueue();
  const refused = new Set<Settlement>();
  const wasRefused = new WeakSet<Settlement>();
  const pending = new Map<string, bigint>();
  const wakeUp = createWakeUp();
  const abandon = new AbortController();
  let running: Promise<void> | undefined;
  let isDraining = false;
  let failures = 0;
  /**
   * A statement took too long, perhaps because somebody holds an account's balance. Until nothing is left over, the others are settled
   * without waiting for it: a batch that waits holds their balances, too.
   */
  let leavesHeld = false;
  /** Queued accounts whose settlements were left over, or were in a batch that took too long. */
  const left = new Set<string>();
  /** Those of them of which others hold another row than the balance. They are settled apart, those that were tried last at the end. */
  const apart = new Set<string>();
  let lockTimeouts = 0;
  const outage = createOutage({ log, failing: "settling failed; retrying", over: "settling works again" });
  let partitionsFrom = "";
  let refusedTriedMs = steady.nowMs();

  function start(): void {
    running ??= run().finally(() => {
      running = undefined;
      if (queue.size > 0 && !abandon.signal.aborted) start();
    });
  }

  /** Never rejects: every failure is counted, logged and retried. */
  async function run(): Promise<void> {
    while (queue.size > 0 && !abandon.signal.aborted) {
      if (queue.size < maxBatch && !isDraining) await wakeUp.wait(flushMs, abandon.signal);
      try {
        await makePartitionsAhead();
        takeBackRefused();
        await landWhatCan(queue.take(maxBatch));
        failures = 0;
        if (left.size > 0) {
          const accounts = [...left].slice(0, MAX_NAMED);
          outage.failed(new Error("Somebody holds rows of accounts."), { queued: queue.size, accounts });
          await wakeUp.wait(flushMs, abandon.signal);
        } else {
          leavesHeld = false;
          outage.over();
        }
      } catch (error) {
        failures++;
        report(() => onFailed({ error, isRefused: false, settlements: queue.size }));
        outage.failed(error, { queued: queue.size });
        await wakeUp.wait(backOffMs(isDraining ? RETRY_AT_SHUTDOWN : RETRY, failures, Math.random()), abandon.signal);
      }
    }
  }

  async function landWhatCan(batch: readonly Settlement[]): Promise<void> {
    lockTimeouts = 0;
    leave(await landInLanes(batch.filter(({ accountId }) => !apart.has(accountId))));
    const byAccount = Map.groupBy(batch, ({ accountId }) => accountId);
    for (const accountId of apart) {
      const own = byAccount.get(accountId);
      if (own === undefined) continue;
      const rest = await land(own);
      leave(rest);
      if (rest.length > 0) break;
    }
  }

  /** They stay queued. */
  function leave(settlements: readonly Settlement[]): void {
    for (const { accountId } of settlements) left.add(accountId);
  }

  function leaveApart(batch: readonly Settlement[]): readonly Settlement[] {
    for (const { accountId } of batch) {
      apart.delete(accountId);
      apart.add(accountId);
    }
    return batch;
  }

  /** Nothing of an account is left over once its settlements are out of the queue, or some were settled. */
  function notLeft({ accountId }: Settlement): void {
    left.delete(accountId);
    apart.delete(accountId);
  }

  /**
   * Postgres works on one connection with one core: a large batch is split over two, which share no account.
   * @returns what it left, because others held the balances of its accounts.
   */
  async function landInLanes(batch: readonly Settlement[]): Promise<readonly Settlement[]> {
    if (batch.length < LANES_FROM) return land(batch);
    const lanes = [batch.filter(({ accountId }) => isOdd(accountId)), batch.filter(({ accountId }) => !isOdd(accountId))];
    const outcomes = await Promise.allSettled(lanes.filter((lane) => lane.length > 0).map((lane) => land(lane)));
    for (const outcome of outcomes) if (outcome.status === "rejected") throw outcome.reason;
    return outcomes.flatMap((outcome) => (outcome.status === "fulfilled" ? outcome.value : []));
  }

  /** Halves a batch until the one rejected settlement, or the account whose rows are held, is alone, so that the others are settled. */
  async function land(batch: readonly Settlement[]): Promise<readonly Settlement[]> {
    if (batch.length === 0 || lockTimeouts >= MAX_LOCK_TIMEOUTS) return batch;
    let result: SettleResult;
    try {
      result = await settle(database, batch, { leavesHeld });
    } catch (error) {
      if (isStatementTimeout(error)) {
        leavesHeld = true;
        leave(batch);
      }
      if (isLockTimeout(error)) {
        lockTimeouts++;
        if (batch.every(({ accountId }) => accountId === batch[0]?.accountId)) return leaveApart(batch);
      } else if (!isRefusal(error)) throw error;
      const [only, ...others] = batch;
      if (only !== undefined && others.length === 0) return landAlone(only, error);
      const middle = Math.ceil(batch.length / 2);
      const leftOver = await land(batch.slice(0, middle));
      return [...leftOver, ...(await land(batch.slice(middle)))];
    }
    const leftOver = new Set(result.left);
    landed(leftOver.size === 0 ? batch : batch.filter((settlement) => !leftOver.has(settlement)), result);
    return result.left;
  }

  /** A settlement that Postgres rejects with its labels is charged without them. */
  async function landAlone(settlement: Settlement, refusal: unknown): Promise<readonly Settlement[]> {
    let error = refusal;
    if (settlement.labels !== undefined) {
      try {
        const result = await settle(database, [{ ...settlement, labels: undefined }], { leavesHeld });
        if (result.left.length > 0) return [settlement];
        landed([settlement], result);
        log.warn({ requestId: settlement.requestId }, "Postgres rejected a request's tags; it was settled without them");
        return [];
      } catch (thrown) {
        if (isLockTimeout(thrown)) return leaveApart([settlement]);
        if (!isRefusal(thrown)) throw thrown;
        error = thrown;
      }
    }
    refuse(settlement, error);
    return [];
  }

  function landed(batch: readonly Settlement[], result: SettleResult): void {
    // The new balances are reported before their charges leave the pending sum: seen from outside, no money appears in between.
    report(() => onSettled(result, batch));
    for (const settlement of batch) {
      queue.delete(settlement);
      notLeft(settlement);
      if (!wasRefused.has(settlement)) addPending(settlement.accountId, -settlement.chargeNanoUsd);
    }
  }

  function refuse(settlement: Settlement, error: unknown): void {
    queue.delete(settlement);
    notLeft(settlement);
    refused.add(settlement);
    if (!wasRefused.has(settlement)) addPending(settlement.accountId, -settlement.chargeNanoUsd);
    wasRefused.add(settlement);
    report(() => onFailed({ error, isRefused: true, settlements: 1 }));
    log.error({ err: error, ...describe(settlement) }, "Postgres rejected a settlement; keeping it and retrying");
  }

  function takeBackRefused(): void {
    if (refused.size === 0 || steady.nowMs() - refusedTriedMs < RETRY_REFUSED_MS) return;
    refusedTriedMs = steady.nowMs();
    for (const settlement of refused) queue.add(settlement);
    refused.clear();
  }

  /** Ahead of time, so that no request at midnight waits for it; settling creates missing ones. */
  async function makePartitionsAhead(): Promise<void> {
    const today = new Date(clock.nowMs()).toISOString().slice(0, 10);
    if (today === partitionsFrom) return;
    await createPartitionsAhead(database, today, PARTITIONS_AHEAD_DAYS);
    partitionsFrom = today;
  }

  function addPending(accountId: string, nanoUsd: bigint): void {
    const sum = (pending.get(accountId) ?? 0n) + nanoUsd;
    if (sum === 0n) pending.delete(accountId);
    else pending.set(accountId, sum);
  }

  /** A listener's bug must not keep money from being settled. */
  function report(callback: () => void): void {
    try {
      callback();
    } catch (error) {
      log.error({ err: error }, "a settlement listener failed");
    }
  }

  return {
    add(settlement) {
      queue.add(settlement);
      addPending(settlement.accountId, settlement.chargeNanoUsd);
      if (queue.size === maxBatch) wakeUp.wake();
      start();
    },
    pendingNanoUsd: (accountId) => pending.get(accountId) ?? 0n,
    get queued() {
      return queue.size;
    },
    get refused() {
      return refused.size;
    },
    get isFull() {
      return queue.size + refused.size >= maxQueued;
    },
    async drain(withinMs) {
      isDraining = true;
      wakeUp.wake();
      const late = Promise.withResolvers<void>();
      const timer = setTimeout(() => {
        abandon.abort();
        late.resolve();
      }, withinMs);
      while (queue.size > 0 && !abandon.signal.aborted) await Promise.race([running, late.promise]);
      clearTimeout(timer);
      for (const settlement of [...queue, ...refused]) log.error(describe(settlement), "settlement not written before shutdown");
    },
  };
}

/** One settlement of the batch is unacceptable, to Postgres or on its way there; any other error may pass. */
function isRefusal(error: unknown): boolean {
  const isUnwritable = error instanceof TypeError || error instanceof RangeError;
  return isUnwritable || isDataRefused(error) || error instanceof UnknownAccountError;
}

/** Splits accounts into halves of about the same size. */
function isOdd(accountId: string): boolean {
  let sum = 0;
  for (let index = 0; index < accountId.length; index++) sum += accountId.charCodeAt(index);
  return sum % 2 === 1;
}

/** Enough to settle it by hand; labels may name people. */
function describe(settlement: Settlement): object {
  return {
    settlement: { ...settlement, priceVersionId: String(settlement.priceVersionId), labels: undefined },
    chargeUsd: formatNanoUsd(settlement.chargeNanoUsd),
  };
}
