import { GatewayError } from "../../contract/errors.ts";
import type { Limit } from "../../contract/limits.ts";
import type { Interface } from "../../contract/protocol.ts";
import type { Counter, Room } from "./counter.ts";
import { describeLimits } from "./rate-limit-headers.ts";

/** A limit that does not let another request begin. */
export interface MetLimit {
  noun: "API key" | "account";
  counter: Counter;
  room: Exclude<Room, "left">;
}

/** No turn can admit it. */
export function isRefused({ room }: MetLimit): boolean {
  return room === "none" || room === "running";
}

/** SDKs sleep until `retry-after`: nobody wants to wait longer than this for an answer, instead of for an error. */
const MAX_WAIT_SECONDS = 600;

/** When there may be room again in a limit that is not used up: after another turn, or when running requests have ended. */
const SOON_SECONDS = { requests: 1, tokens: 1, usd: 5 } as const satisfies Record<Limit["unit"], number>;

/** @param counters all limits of the request, for its headers. */
export function limitRefusal(
  { noun, counter, room }: MetLimit,
  { counters, protocol, nowMs }: { counters: readonly Counter[]; protocol: Interface; nowMs: number },
): GatewayError {
  const { definition, limit } = counter;
  const waitSeconds = room === "none" ? secondsTo(counter.resetsMs(nowMs), nowMs) : SOON_SECONDS[definition.unit];
  const isClosed = limit === 0n;
  const reason = (room === "none" ? undefined : definition.mayBeReached) ?? definition.reached(limit);
  const remedy = isClosed ? "It accepts no requests until the limit is raised" : `Try again in ${inWords(waitSeconds)}`;
  return new GatewayError("rate_limited", `This ${noun} ${reason} ${remedy}.`, {
    headers: {
      ...(isClosed ? {} : { "retry-after": String(waitSeconds) }),
      ...(isClosed || waitSeconds > MAX_WAIT_SECONDS ? { "x-should-retry": "false" } : {}),
      ...describeLimits(protocol, counters, nowMs),
    },
  });
}

function secondsTo(ms: number, nowMs: number): number {
  return Math.max(1, Math.ceil((ms - nowMs) / 1000));
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
