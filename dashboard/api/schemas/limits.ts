import * as z from "zod";
import { COUNT_LIMITS, LIMIT_NAMES, limitsSchema, MAX_COUNT_LIMIT, USD_AMOUNT, type Limits } from "../../../contract/limits.ts";
import type { LimitUsage } from "../../limits/limit-usage.ts";
import { showMoney } from "./values.ts";

const count = z
  .int("Enter a whole number above 0.")
  .min(1, "Enter a whole number above 0.")
  .max(MAX_COUNT_LIMIT, `At most ${MAX_COUNT_LIMIT}.`);
const amount = z.string('Enter an amount in USD, such as "5.00".').regex(USD_AMOUNT, 'Enter an amount in USD, such as "5.00".');

export const limits = z
  .strictObject(
    Object.fromEntries(
      LIMIT_NAMES.map((name) => [toSnakeCase(name), COUNT_LIMITS.includes(name) ? count.optional() : amount.optional()]),
    ),
  )
  .meta({ description: "Omitted limits do not apply. Days and months are UTC." });

export const accountLimits = z
  .object({
    effective: limits.meta({ description: "Limits in force: the lower of each" }),
    owner: limits.meta({ description: "Set by the account's owners" }),
    operator: limits.meta({ description: "Set by the operator of the service" }),
    used: z
      .object(Object.fromEntries(LIMIT_NAMES.map((name) => [toSnakeCase(name), z.union([z.int(), z.string()]).optional()])))
      .meta({ description: "How much of each limit in force is used now: a count, or USD as a decimal string" }),
  })
  .meta({ id: "AccountLimits" });

export function readLimits(sent: z.infer<typeof limits>): Limits {
  const named = LIMIT_NAMES.map((name) => [name, sent[toSnakeCase(name)]] as const);
  return limitsSchema.parse(Object.fromEntries(named.filter(([, value]) => value !== undefined)));
}

export function showLimits(kept: Limits): z.infer<typeof limits> {
  return Object.fromEntries(LIMIT_NAMES.map((name) => [toSnakeCase(name), kept[name]]));
}

function toSnakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

export function showUsed(usage: readonly LimitUsage[]): Record<string, number | string> {
  return Object.fromEntries(
    usage.map(({ name, definition, used }) => [toSnakeCase(name), definition.unit === "usd" ? showMoney(used) : Number(used)]),
  );
}
