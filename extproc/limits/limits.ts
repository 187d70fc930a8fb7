import { GatewayError } from "../../contract/errors.ts";
import { LIMIT_NAMES, LIMITS, type Limit, type LimitKind, type Limits as LimitSettings } from "../../contract/limits.ts";
import type { Interface } from "../../contract/protocol.ts";
import type { LimitTurns } from "../../ledger/leases/limit-turns.ts";
import { parseNanoUsd } from "../../ledger/money.ts";
import type { Caller } from "../auth/authenticate.ts";
import { createCounter, type Counter, type Room } from "./counter.ts";
import { createLimitShare } from "./limit-share.ts";
import { createNextTurn, type NextTurn } from "./next-turn.ts";
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

interface Use {
  tokens: number;
  nanoUsd: bigint;
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
  noun: "API key" | "account";
  /** In the order of the schema (docs/howto/add-a-limit.md), also those set later. */
  counters: readonly Counter[];
}

interface MetLimit {
  noun: Subject["noun"];
  counter: Counter;
  room: Exclude<Room, "left">;
}

/** SDKs sleep until `retry-after`: nobody wants to wait longer than this for an answer, instead of for an error. */
const MAX_WAIT_SECONDS = 600;

/** Within this time, every other process has taken a turn and given up what it does not use. */
const TURNS_WITHIN_MS = 2_000;
/** When there may be room again in a limit that is not used up: after another turn, or when running requests have ended. */
const SOON_SECONDS = { requests: 1, tokens: 1, usd: 5 } as const satisfies Record<Limit["unit"], number>;

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

  function refusal({ noun, counter, room }: MetLimit, limited: readonly Subject[], protocol: Interface): GatewayError {
    const nowMs = clock.nowMs();
    const { definition, limit } = counter;
    const waitSeconds = room === "none" ? secondsTo(counter.resetsMs(nowMs), nowMs) : SOON_SECONDS[definition.unit];
    const isClosed = limit === 0n;
    const reason = (room === "none" ? undefined : definition.mayBeReached) ?? definition.reached(limit);
    const remedy = isClosed ? "It accepts no requests until the limit is raised" : `Try again in ${inWords(waitSeconds)}`;
    return new GatewayError("rate_limited", `This ${noun} ${reason} ${remedy}.`, {
      headers: {
        ...(isClosed ? {} : { "retry-after": String(waitSeconds) }),
        ...(isClosed || waitSeconds > MAX_WAIT_SECONDS ? { "x-should-retry": "false" } : {}),
        ...headersOf(limited, protocol),
      },
    });
  }

  function headersOf(limited: readonly Subject[], protocol: Interface): Record<string, string> {
    return describeLimits(
      protocol,
      limited.flatMap(({ counters }) => counters),
      clock.nowMs(),
    );
  }

  function count(caller: Caller, protocol: Interface, expected: Use, limited: readonly Subject[]): LimitedRequest {
    // Counters with a period: those of running requests may have been replaced by the time that this one ends.
    const counters = limited.flatMap((each) => each.counters.filter(({ definition }) => definition.period !== null));
    const begunMs = clock.nowMs();
    for (const counter of counters) countBegun(counter, expected, begunMs);
    const names = namesOf(caller);
    countRunning(names, 1);
    return {
      headers: limited.length === 0 ? {} : headersOf(limited, protocol),
      end(used) {
        countRunning(names, -1);
        for (const counter of counters) countEnded(counter, { expected, used, begunMs });
      },
      cancel() {
        countRunning(names, -1);
        for (const counter of counters) countCanceled(counter, expected, begunMs);
      },
    };
  }

  /** Waits for turns until one admits the request, or none can. */
  async function beginLater(caller: Caller, protocol: Interface, expected: Use): Promise<LimitedRequest> {
    const untilMs = monotonic.nowMs() + TURNS_WITHIN_MS;
    for (let isKnown = false; ; isKnown = true) {
      const limited = subjectsOf(caller);
      const met = firstMet(limited, clock.nowMs());
      if (met === undefined) return count(caller, protocol, expected, limited);
      // The last turn has shown what others run.
      const isFinal = isRefused(met) || (isKnown && met.room === "elsewhere");
      const leftMs = untilMs - monotonic.nowMs();
      const amount = atBegin(met.counter.definition, expected);
      if (isFinal || leftMs <= 0 || !met.counter.startWaiting(amount)) throw refusal(met, limited, protocol);
      try {
        await nextTurn.wait(leftMs);
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

  function countBegun(counter: Counter, expected: Use, nowMs: number): void {
    const amount = atBegin(counter.definition, expected);
    if (counter.definition.unit === "usd") counter.addRunning(amount, nowMs);
    else counter.add(amount, nowMs);
  }

  /** A finished minute keeps its expected tokens; the real ones count when they are known, and so does what was spent. */
  function countEnded(counter: Counter, { expected, used, begunMs }: { expected: Use; used: Use; begunMs: number }): void {
    const nowMs = clock.nowMs();
    switch (counter.definition.unit) {
      case "requests":
        return;
      case "tokens":
        counter.add(BigInt(used.tokens) - (isSamePeriod(counter, begunMs) ? BigInt(expected.tokens) : 0n), nowMs);
        return;
      case "usd":
        counter.addRunning(-expected.nanoUsd, nowMs);
        counter.add(used.nanoUsd, nowMs);
    }
  }

  function countCanceled(counter: Counter, expected: Use, begunMs: number): void {
    const amount = -atBegin(counter.definition, expected);
    if (counter.definition.unit === "usd") counter.addRunning(amount, clock.nowMs());
    else if (isSamePeriod(counter, begunMs)) counter.add(amount, clock.nowMs());
  }

  function isSamePeriod(counter: Counter, begunMs: number): boolean {
    return counter.resetsMs(begunMs) === counter.resetsMs(clock.nowMs());
  }
}

function namesOf({ key, account }: Caller): readonly [key: string, account: string] {
  return [`key:${key.publicId}`, `account:${account.accountId}`];
}

function atBegin({ unit }: Limit, expected: Use): bigint {
  switch (unit) {
    case "requests":
      return 1n;
    case "tokens":
      return BigInt(expected.tokens);
    case "usd":
      return expected.nanoUsd;
  }
}

/** No turn can admit it. */
function isRefused({ room }: MetLimit): boolean {
  return room === "none" || room === "running";
}

function secondsTo(ms: number, nowMs: number): number {
  return Math.max(1, Math.ceil((ms - nowMs) / 1000));
}

function readLimit(setting: number | string | undefined): bigint | undefined {
  if (setting === undefined) return undefined;
  return typeof setting === "number" ? BigInt(setting) : parseNanoUsd(setting);
}

const MINUTE_S = 60;
const HOUR_S = 3600;
const DAY_S = 86_400;

/** Rounded up; `retry-after` has the seconds. */
function inWords(seconds: number): string {
  if (seconds < 2 * MINUTE_S) return `${seconds} s`;
  if (seconds < 2 * HOUR_S) return `${Math.ceil(seconds / MINUTE_S)} minutes`;
  return seconds < 2 * DAY_S ? `${Math.ceil(seconds / HOUR_S)} hours` : `${Math.ceil(seconds / DAY_S)} days`;
}
