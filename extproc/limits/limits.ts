import { GatewayError } from "../../contract/errors.ts";
import type { Limits as LimitSettings } from "../../contract/limits.ts";
import type { Interface } from "../../contract/protocol.ts";
import { LIMIT_KINDS, type LimitClaims, type LimitKind } from "../../ledger/leases/limits.ts";
import { parseNanoUsd } from "../../ledger/money.ts";
import type { Caller } from "../auth/authenticate.ts";
import { createCounter, type Counter } from "./counter.ts";
import { describeLimits } from "./headers.ts";

/** What keys and accounts may use (S23), decided from memory. */
export interface Limits {
  /** Before the body is read. @throws GatewayError `rate_limited` that names the limit and says when to come again. */
  check(caller: Caller, protocol: Interface): void;
  /**
   * Counts a request that begins, by what it may use until its real use is known.
   * @throws GatewayError `rate_limited`.
   */
  begin(caller: Caller, protocol: Interface, expected: Use): LimitedRequest;
  /** Tells the other processes what was used here and learns what they have used. */
  share(): Promise<void>;
}

interface Use {
  tokens: number;
  nanoUsd: bigint;
}

/** A request that counts against limits until it ends, once. */
export interface LimitedRequest {
  /** The protocol's rate-limit headers; none where nothing is limited. */
  readonly headers: Readonly<Record<string, string>>;
  end(used: Use): void;
  /** It did not run: nothing of it counts. */
  cancel(): void;
}

export interface LimitsDeps {
  /** Unix ms: periods are those of the clock. */
  clock: { nowMs(): number };
  /** Meets the other processes. */
  claim(claims: LimitClaims): Promise<void>;
}

interface Subject {
  name: string;
  noun: "API key" | "account";
  counters: ReadonlyMap<LimitKind, Counter>;
}

const UNLIMITED: LimitedRequest = { headers: {}, end() {}, cancel() {} };

export function createLimits({ clock, claim }: LimitsDeps): Limits {
  const subjects = new Map<string, Map<LimitKind, Counter>>();
  let holders = 1;

  function subjectsOf({ key, account }: Caller): Subject[] {
    return [
      subject("API key", `key:${key.publicId}`, key.limits),
      subject("account", `account:${account.accountId}`, account.limits),
    ].filter((each) => each !== undefined);
  }

  function subject(noun: Subject["noun"], name: string, settings: LimitSettings): Subject | undefined {
    const limits = readLimits(settings);
    if (limits.size === 0) {
      subjects.delete(name);
      return undefined;
    }
    const counters = subjects.get(name) ?? new Map<LimitKind, Counter>();
    subjects.set(name, counters);
    for (const kind of LIMIT_KINDS) {
      const limit = limits.get(kind);
      const counter = counters.get(kind);
      if (limit === undefined) counters.delete(kind);
      else if (counter === undefined) counters.set(kind, createCounter(kind, limit, { holders }));
      else counter.setLimit(limit);
    }
    return { name, noun, counters };
  }

  function refuseSpent(limited: readonly Subject[], protocol: Interface): void {
    const nowMs = clock.nowMs();
    for (const { noun, counters } of limited) {
      for (const counter of counters.values()) if (counter.isSpent(nowMs)) throw refusal(noun, counter);
    }

    function refusal(noun: Subject["noun"], counter: Counter): GatewayError {
      const waitSeconds = Math.max(1, Math.ceil((counter.resetsMs(nowMs) - nowMs) / 1000));
      return new GatewayError("rate_limited", `${describe(noun, counter)} Try again in ${waitSeconds} s.`, {
        headers: { "retry-after": String(waitSeconds), ...headersOf(limited, protocol) },
      });
    }
  }

  function headersOf(limited: readonly Subject[], protocol: Interface): Record<string, string> {
    return describeLimits(
      protocol,
      limited.flatMap(({ counters }) => [...counters.values()]),
      clock.nowMs(),
    );
  }

  return {
    check: (caller, protocol) => refuseSpent(subjectsOf(caller), protocol),
    begin(caller, protocol, expected) {
      const limited = subjectsOf(caller);
      if (limited.length === 0) return UNLIMITED;
      refuseSpent(limited, protocol);
      const counters = limited.flatMap((each) => [...each.counters.values()]);
      const begunMs = clock.nowMs();
      for (const counter of counters) counter.add(atBegin(counter.kind, expected), begunMs);
      return {
        headers: headersOf(limited, protocol),
        end(used) {
          for (const counter of counters) counter.add(atEnd(counter, { expected, used, begunMs }), clock.nowMs());
        },
        cancel() {
          for (const counter of counters)
            if (isSamePeriod(counter, begunMs)) counter.add(-atBegin(counter.kind, expected), clock.nowMs());
        },
      };
    },
    async share() {
      const nowMs = clock.nowMs();
      const counted = [...subjects].flatMap(([name, counters]) =>
        [...counters.values()].map((counter) => ({ counter, use: { subject: name, kind: counter.kind, ...counter.own(nowMs) } })),
      );
      await claim({
        uses: counted.map(({ use }) => use),
        claim(others, by) {
          holders = by;
          return counted.map(({ counter, use }, index) =>
            counter.claim({ ...use, others: others[index] ?? { used: 0n, claimed: 0n, met: 0 }, holders, nowMs }),
          );
        },
      });
      for (const { counter } of counted) counter.confirm();
    },
  };

  /** A minute that is over keeps what was expected in it; what was really used counts when it is known. */
  function atEnd(counter: Counter, { expected, used, begunMs }: { expected: Use; used: Use; begunMs: number }): bigint {
    const taken = isSamePeriod(counter, begunMs) ? atBegin(counter.kind, expected) : 0n;
    switch (counter.kind) {
      case "requests":
        return 0n;
      case "concurrent":
        return -1n;
      case "tokens":
        return BigInt(used.tokens) - taken;
      case "day":
      case "month":
        return used.nanoUsd - taken;
    }
  }

  function isSamePeriod(counter: Counter, begunMs: number): boolean {
    return counter.kind === "concurrent" || counter.resetsMs(begunMs) === counter.resetsMs(clock.nowMs());
  }
}

function atBegin(kind: LimitKind, expected: Use): bigint {
  switch (kind) {
    case "requests":
    case "concurrent":
      return 1n;
    case "tokens":
      return BigInt(expected.tokens);
    case "day":
    case "month":
      return expected.nanoUsd;
  }
}

function readLimits(settings: LimitSettings): Map<LimitKind, bigint> {
  const limits = new Map<LimitKind, bigint>();
  const { requestsPerMinute, tokensPerMinute, concurrentRequests, spendPerDayUsd, spendPerMonthUsd } = settings;
  if (requestsPerMinute !== undefined) limits.set("requests", BigInt(requestsPerMinute));
  if (tokensPerMinute !== undefined) limits.set("tokens", BigInt(tokensPerMinute));
  if (concurrentRequests !== undefined) limits.set("concurrent", BigInt(concurrentRequests));
  if (spendPerDayUsd !== undefined) limits.set("day", parseNanoUsd(spendPerDayUsd));
  if (spendPerMonthUsd !== undefined) limits.set("month", parseNanoUsd(spendPerMonthUsd));
  return limits;
}

function describe(noun: Subject["noun"], { kind, limit }: Counter): string {
  switch (kind) {
    case "requests":
      return `This ${noun} may send ${limit} requests a minute, and has.`;
    case "tokens":
      return `This ${noun} may use ${limit} tokens a minute, and has.`;
    case "concurrent":
      return `This ${noun} may run ${limit} requests at once, and does.`;
    case "day":
      return `This ${noun} has reached its spending limit for the day (UTC).`;
    case "month":
      return `This ${noun} has reached its spending limit for the month (UTC).`;
  }
}
