import type { GatewayError } from "../../contract/errors.ts";
import { LIMIT_NAMES, LIMITS, type Limit, type LimitKind, type Limits as LimitSettings } from "../../contract/limits.ts";
import type { Interface } from "../../contract/protocol.ts";
import type { LimitTurns } from "../../ledger/leases/limit-turns.ts";
import { parseNanoUsd } from "../../ledger/money.ts";
import type { Caller } from "../auth/authenticate.ts";
import { createCounter, type Counter } from "./counter.ts";
import { createLimitShare } from "./limit-share.ts";
import { createNextTurn, type NextTurn } from "./next-turn.ts";
import { isRefused, limitRefusal, type MetLimit } from "./limit-refusal.ts";
import { countBegun, countCanceled, countEnded, expectedOf, type Use } from "./request-counts.ts";
import { describeLimits } from "./rate-limit-headers.ts";

/** Limits on the use of keys and accounts (S23), decided from memory. */
export interface Limits {
  /** Before the body is read. @throws GatewayError `rate_limited` that names the limit and the retry time. */
  check(caller: Caller, protocol: Interface): void;
  /**
   * Counts a request that begins, by its expected use until its real use is known. It waits for a turn if that may admit it.
   * @throws GatewayError (or rejects with one) `rate_limited`.
   */
  begin(caller: Caller, protocol: Interface, expected: Use): LimitedRequest | Promise<LimitedRequest>;
  /** Waits until a request waits for a turn. */
  untilWanted: NextTurn["untilWanted"];
  /** Reports this process's use to the others and receives theirs. */
  share(): Promise<void>;
  /** The same for everything that they do not know yet: the last time. */
  shareAll(): Promise<void>;
}

/** A request that counts against limits until it ends, once. */
export interface LimitedRequest {
  /** The protocol's rate-limit headers; none without limits. */
  readonly headers: Readonly<Record<string, string>>;
  end(used: Use): void;
  /** It did not run: none of it counts. */
  cancel(): void;
}

export interface LimitsDeps {
  /** Unix ms: periods are those of the clock. */
  clock: { nowMs(): number };
  monotonic: { nowMs(): number };
  turns: LimitTurns;
}

interface Subject {
  name: string;
  noun: MetLimit["noun"];
  /** In the order of the schema (docs/howto/add-a-limit.md), also those set later. */
  counters: readonly Counter[];
}

/** Within this time, every other process has taken a turn and given up what it does not use. */
const TURNS_WITHIN_MS = 2_000;

export function createLimits({ clock, monotonic, turns }: LimitsDeps): Limits {
  const subjects = new Map<string, Map<LimitKind, Counter>>();
  /** Of each key and account, limited or not: a limit may be set, or removed and set again, while they run. */
  const running = new Map<string, number>();
  const { share, shareAll, processes } = createLimitShare({ clock, turns, subjects });
  const nextTurn = createNextTurn(monotonic);

  function subjectsOf(caller: Caller): Subject[] {
    const [key, account] = namesOf(caller);
    return [subject("API key", key, caller.key.limits), subject("account", account, caller.account.limits)].filter(
      (each) => each !== undefined,
    );
  }

  function subject(noun: Subject["noun"], name: string, settings: LimitSettings): Subject | undefined {
    const known = subjects.get(name);
    if (known === undefined && LIMIT_NAMES.every((each) => settings[each] === undefined)) return undefined;
    const all = known ?? new Map<LimitKind, Counter>();
    const counters: Counter[] = [];
    for (const each of LIMIT_NAMES) {
      const limit = readLimit(settings[each]);
      if (limit === undefined) remove(name, all, LIMITS[each]);
      else counters.push(counterOf(name, all, { definition: LIMITS[each], limit }));
    }
    if (all.size === 0) subjects.delete(name);
    else subjects.set(name, all);
    return counters.length === 0 ? undefined : { name, noun, counters };
  }

  /** While requests run, their number remains known to the other processes, so that it is not taken for theirs when it counts again. */
  function remove(name: string, all: Map<LimitKind, Counter>, { kind, period }: Limit): void {
    if (period !== null || !running.has(name)) all.delete(kind);
  }

  function counterOf(
    name: string,
    all: Map<LimitKind, Counter>,
    { definition, limit }: { definition: Limit; limit: bigint },
  ): Counter {
    const known = all.get(definition.kind);
    known?.setLimit(limit);
    if (known !== undefined) return known;
    const counter = createCounter(definition, limit, { processes: processes() });
    if (definition.period === null) counter.addRunning(BigInt(running.get(name) ?? 0), clock.nowMs());
    all.set(definition.kind, counter);
    return counter;
  }

  function countRunning(names: readonly string[], change: 1 | -1): void {
    for (const name of names) {
      const count = (running.get(name) ?? 0) + change;
      if (count === 0) running.delete(name);
      else running.set(name, count);
      subjects.get(name)?.get(LIMITS.concurrentRequests.kind)?.addRunning(BigInt(change), clock.nowMs());
    }
  }

  /** The first limit that does not let another request begin. */
  function firstMet(limited: readonly Subject[], nowMs: number): MetLimit | undefined {
    for (const { noun, counters } of limited) {
      for (const counter of counters) {
        const room = counter.room(nowMs);
        if (room !== "left") return { noun, counter, room };
      }
    }
    return undefined;
  }

  function refusal(met: MetLimit, limited: readonly Subject[], protocol: Interface): GatewayError {
    return limitRefusal(met, { counters: countersOf(limited), protocol, nowMs: clock.nowMs() });
  }

  function count(caller: Caller, protocol: Interface, expected: Use, limited: readonly Subject[]): LimitedRequest {
    // Counters with a period: those of running requests may have been replaced by the time that this one ends.
    const counters = countersOf(limited).filter(({ definition }) => definition.period !== null);
    const use = { expected, begunMs: clock.nowMs() };
    for (const counter of counters) countBegun(counter, use);
    const names = namesOf(caller);
    countRunning(names, 1);
    return {
      headers: limited.length === 0 ? {} : describeLimits(protocol, countersOf(limited), clock.nowMs()),
      end(used) {
        countRunning(names, -1);
        for (const counter of counters) countEnded(counter, use, { used, nowMs: clock.nowMs() });
      },
      cancel() {
        countRunning(names, -1);
        for (const counter of counters) countCanceled(counter, use, clock.nowMs());
      },
    };
  }

  /** Waits for turns until one admits the request, or none can. */
  async function beginLater(caller: Caller, protocol: Interface, expected: Use): Promise<LimitedRequest> {
    const untilMs = monotonic.nowMs() + TURNS_WITHIN_MS;
    let awaited: Counter | undefined;
    for (;;) {
      const limited = subjectsOf(caller);
      const met = firstMet(limited, clock.nowMs());
      if (met === undefined) return count(caller, protocol, expected, limited);
      // The last turn has shown what others run under this limit.
      const isFinal = isRefused(met) || (met.room === "elsewhere" && met.counter === awaited);
      const leftMs = untilMs - monotonic.nowMs();
      // Counting tokens is expected to use none; what waits is bounded and hurried all the same.
      const amount = expectedOf(met.counter.definition, expected) || 1n;
      if (isFinal || leftMs <= 0 || !met.counter.startWaiting(amount)) throw refusal(met, limited, protocol);
      awaited = met.counter;
      try {
        await nextTurn.wait(met.counter, leftMs);
      } catch {
        throw refusal(met, limited, protocol);
      } finally {
        met.counter.stopWaiting(amount);
      }
    }
  }

  return {
    check(caller, protocol) {
      const limited = subjectsOf(caller);
      const met = firstMet(limited, clock.nowMs());
      if (met !== undefined && isRefused(met)) throw refusal(met, limited, protocol);
    },
    begin(caller, protocol, expected) {
      const limited = subjectsOf(caller);
      const met = firstMet(limited, clock.nowMs());
      if (met === undefined) return count(caller, protocol, expected, limited);
      if (isRefused(met)) throw refusal(met, limited, protocol);
      return beginLater(caller, protocol, expected);
    },
    untilWanted: nextTurn.untilWanted,
    share: () => nextTurn.take(share),
    shareAll,
  };
}

function countersOf(limited: readonly Subject[]): Counter[] {
  return limited.flatMap(({ counters }) => counters);
}

function namesOf({ key, account }: Caller): readonly [key: string, account: string] {
  return [`key:${key.publicId}`, `account:${account.accountId}`];
}

function readLimit(setting: number | string | undefined): bigint | undefined {
  if (setting === undefined) return undefined;
  return typeof setting === "number" ? BigInt(setting) : parseNanoUsd(setting);
}
