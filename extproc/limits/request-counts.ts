import type { Limit } from "../../contract/limits.ts";
import type { Counter } from "./counter.ts";

/** What a request uses of limits. */
export interface Use {
  tokens: number;
  nanoUsd: bigint;
}

/** Of a request that has begun. */
export interface BegunUse {
  expected: Use;
  begunMs: number;
}

/** Until its real use is known. */
export function expectedOf({ unit }: Limit, expected: Use): bigint {
  switch (unit) {
    case "requests":
      return 1n;
    case "tokens":
      return BigInt(expected.tokens);
    case "usd":
      return expected.nanoUsd;
  }
}

export function countBegun(counter: Counter, { expected, begunMs }: BegunUse): void {
  const amount = expectedOf(counter.definition, expected);
  if (counter.definition.unit === "usd") counter.addRunning(amount, begunMs);
  else counter.add(amount, begunMs);
}

/** A finished minute keeps its expected tokens; the real ones count when they are known, and so does what was spent. */
export function countEnded(
  counter: Counter,
  { expected, begunMs }: BegunUse,
  { used, nowMs }: { used: Use; nowMs: number },
): void {
  switch (counter.definition.unit) {
    case "requests":
      return;
    case "tokens":
      counter.add(BigInt(used.tokens) - (isSamePeriod(counter, begunMs, nowMs) ? BigInt(expected.tokens) : 0n), nowMs);
      return;
    case "usd":
      counter.addRunning(-expected.nanoUsd, nowMs);
      counter.add(used.nanoUsd, nowMs);
  }
}

/** It did not run. */
export function countCanceled(counter: Counter, { expected, begunMs }: BegunUse, nowMs: number): void {
  const amount = -expectedOf(counter.definition, expected);
  if (counter.definition.unit === "usd") counter.addRunning(amount, nowMs);
  else if (isSamePeriod(counter, begunMs, nowMs)) counter.add(amount, nowMs);
}

function isSamePeriod(counter: Counter, begunMs: number, nowMs: number): boolean {
  return counter.resetsMs(begunMs) === counter.resetsMs(nowMs);
}
