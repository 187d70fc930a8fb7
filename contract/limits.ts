import * as z from "zod";

/** USD as a decimal string: JSON numbers would round it. */
export const USD_AMOUNT = /^\d{1,9}(\.\d{1,9})?$/;

/** The largest count that people can set. */
export const MAX_COUNT_LIMIT = 1_000_000_000;

const count = z.int().nonnegative().optional();
const usd = z.string().regex(USD_AMOUNT, { error: 'an amount of USD such as "5.00"' }).optional();

/** What a key or an account may use (S23); a limit that is absent does not apply. Days and months are UTC. */
export const limitsSchema = z.strictObject({
  requestsPerMinute: count,
  /** Tokens of all classes. */
  tokensPerMinute: count,
  concurrentRequests: count,
  spendPerDayUsd: usd,
  spendPerMonthUsd: usd,
});
export type Limits = z.infer<typeof limitsSchema>;

/** Stored limits: a newer version may have written some that this one does not know (docs/decisions/0042). */
export const storedLimitsSchema = z.record(z.string(), z.unknown()).transform(readStoredLimits);

export function readStoredLimits(stored: Readonly<Record<string, unknown>>): StoredLimits {
  const read = limitsSchema.safeParse(stored);
  if (read.success) return { limits: read.data, unknownLimits: [] };
  const unknownLimits = Object.keys(stored).filter((name) => !limitsSchema.safeParse({ [name]: stored[name] }).success);
  const known = Object.entries(stored).filter(([name]) => !unknownLimits.includes(name));
  return { limits: limitsSchema.parse(Object.fromEntries(known)), unknownLimits };
}

export interface StoredLimits {
  limits: Limits;
  /** Their names. */
  unknownLimits: string[];
}
type LimitName = keyof Limits;

export interface LimitDefinition {
  /** Its name in counters and in the table limit_use. */
  kind: string;
  unit: "requests" | "tokens" | "usd";
  /** UTC; null for concurrent use. */
  period: "minute" | "day" | "month" | null;
  /** In forms. */
  label: string;
  /** In the ApiKey resource and the management API. */
  description: string;
  /** The reason of a refusal: follows "This API key" or "This account". */
  reached(limit: bigint): string;
  /** The reason while running requests may leave some of it. */
  mayBeReached?: string;
}

/** Each limit, once: counters, forms, API, resource and messages are generated from it, in the order of `limitsSchema`. */
export const LIMITS = {
  requestsPerMinute: {
    kind: "requests",
    unit: "requests",
    period: "minute",
    label: "Requests per minute",
    description: "Maximum requests per minute.",
    reached: (limit) => `has reached its limit of ${limit} ${limit === 1n ? "request" : "requests"} per minute.`,
  },
  tokensPerMinute: {
    kind: "tokens",
    unit: "tokens",
    period: "minute",
    label: "Tokens per minute",
    description: "Maximum tokens per minute, all classes together.",
    reached: (limit) => `has reached its limit of ${limit} tokens per minute.`,
  },
  concurrentRequests: {
    kind: "concurrent",
    unit: "requests",
    period: null,
    label: "Concurrent requests",
    description: "Maximum concurrent requests.",
    reached: (limit) => `already has ${limit} ${limit === 1n ? "request" : "requests"} in flight, its limit.`,
  },
  spendPerDayUsd: {
    kind: "day",
    unit: "usd",
    period: "day",
    label: "Daily spend (USD)",
    description: "Maximum USD per UTC day.",
    reached: () => "has reached its spending limit for the day (UTC).",
    mayBeReached: "has requests in flight that may use up its spending limit for the day (UTC).",
  },
  spendPerMonthUsd: {
    kind: "month",
    unit: "usd",
    period: "month",
    label: "Monthly spend (USD)",
    description: "Maximum USD per UTC month.",
    reached: () => "has reached its spending limit for the month (UTC).",
    mayBeReached: "has requests in flight that may use up its spending limit for the month (UTC).",
  },
} as const satisfies Record<LimitName, LimitDefinition>;

export type LimitKind = (typeof LIMITS)[LimitName]["kind"];
export type Limit = LimitDefinition & { kind: LimitKind };

export const LIMIT_NAMES: readonly LimitName[] = limitsSchema.keyof().options;
export const COUNT_LIMITS = LIMIT_NAMES.filter((name) => LIMITS[name].unit !== "usd");
export const SPEND_LIMITS = LIMIT_NAMES.filter((name) => LIMITS[name].unit === "usd");
