import { RATE_LIMIT_HEADERS } from "../../contract/headers.ts";
import { dialectOf, type Dialect, type Interface } from "../../contract/protocol.ts";
import type { Counter } from "./counter.ts";

/**
 * The protocols' rate-limit headers for requests and tokens per minute: of several limits of a kind, the one with the least left.
 * OpenAI's interfaces report the time to the reset, Messages the moment.
 */
export function describeLimits(client: Interface, counters: readonly Counter[], nowMs: number): Record<string, string> {
  const dialect = dialectOf(client);
  const headers: Record<string, string> = {};
  for (const kind of ["requests", "tokens"] as const) {
    const counter = tightest(
      counters.filter((each) => each.definition.kind === kind),
      nowMs,
    );
    if (counter === undefined) continue;
    const names = RATE_LIMIT_HEADERS[dialect][kind];
    headers[names.limit] = String(counter.limit);
    headers[names.remaining] = String(counter.remaining(nowMs));
    const resetsMs = counter.resetsMs(nowMs);
    headers[names.reset] = RESETS[dialect](resetsMs, nowMs);
  }
  return headers;
}

const duration = (resetsMs: number, nowMs: number) => `${Math.ceil((resetsMs - nowMs) / 1000)}s`;
const moment = (resetsMs: number) => new Date(resetsMs).toISOString().replace(/\.\d+Z$/, "Z");

const RESETS = {
  chat: duration,
  messages: moment,
} as const satisfies Record<Dialect, (resetsMs: number, nowMs: number) => string>;

function tightest(counters: readonly Counter[], nowMs: number): Counter | undefined {
  return counters.toSorted((a, b) => (a.remaining(nowMs) < b.remaining(nowMs) ? -1 : 1)).at(0);
}
