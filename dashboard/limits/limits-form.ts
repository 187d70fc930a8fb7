import * as z from "zod";
import { COUNT_LIMITS, LIMIT_NAMES, limitsSchema, USD_AMOUNT, type Limits } from "../../contract/limits.ts";
import { typedAmount } from "../http/typed-amount.ts";

const amount = z.string().overwrite(typedAmount).regex(USD_AMOUNT, "Enter an amount in USD, such as 5.00.").optional();
const count = z
  .string()
  .regex(/^[1-9]\d{0,8}$/, "Enter a whole number above 0.")
  .transform(Number)
  .optional();

/** Part of a form's schema: a field for each limit. */
export const limitFields = Object.fromEntries(LIMIT_NAMES.map((name) => [name, COUNT_LIMITS.includes(name) ? count : amount]));
const limitsForm = z.object(limitFields);

/**
 * Limits as form values; an empty field means no limit.
 * @throws ZodError with a sentence for each invalid field.
 */
export function parseLimitsForm(values: Readonly<Record<string, string>>): Limits {
  return limitsSchema.parse(limitsForm.parse(filledIn(values)));
}

/** Empty fields are absent. */
export function filledIn(values: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== ""));
}

/** The reverse, to be shown in the form. */
export function writeLimitsForm(limits: Limits): Record<string, string> {
  return Object.fromEntries(Object.entries(limits).map(([field, value]) => [field, String(value)]));
}
