import * as z from "zod";
import { COUNT_LIMITS, LIMIT_NAMES, limitsSchema, MAX_COUNT_LIMIT, USD_AMOUNT, type Limits } from "../../contract/limits.ts";
import { typedAmount, typedNumber } from "../http/typed-amount.ts";

const WRONG_COUNT = `Enter a whole number from 1 to ${MAX_COUNT_LIMIT.toLocaleString("en-US")}.`;

const amount = z.string().overwrite(typedAmount).regex(USD_AMOUNT, "Enter an amount in USD, such as 5.00.").optional();
const count = z
  .string()
  .overwrite(typedNumber)
  .regex(/^[1-9]\d{0,9}$/, WRONG_COUNT)
  .transform(Number)
  .refine((number) => number <= MAX_COUNT_LIMIT, WRONG_COUNT)
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
