import * as z from "zod";
import { USD_AMOUNT } from "../../../contract/limits.ts";
import { parseNanoUsd } from "../../../ledger/money.ts";
import { endOfDay } from "../../../contract/days.ts";
import { typedAmount } from "../../http/typed-amount.ts";

const AMOUNT = "Enter an amount in USD, such as 5.00.";

const amount = z
  .string(AMOUNT)
  .overwrite(typedAmount)
  .regex(USD_AMOUNT, AMOUNT)
  .transform(parseNanoUsd)
  .refine((nanoUsd) => nanoUsd > 0n, "Enter an amount above zero.");
/** "" is none. */
const optionalAmount = z.union([z.literal("").transform(() => null), amount], AMOUNT).default(null);
const change = z
  .string(AMOUNT)
  .overwrite(typedAmount)
  .regex(/^[-−]?\d{1,9}(\.\d{1,9})?$/, "Enter an amount in USD, such as 5.00, or -5.00 to deduct.")
  .transform((text) => parseNanoUsd(text.replace("−", "-")))
  .refine((nanoUsd) => nanoUsd !== 0n, "Enter an amount other than zero.");
const reason = z.string("Enter a reason.").min(1, "Enter a reason.").max(200, "Use at most 200 characters.");
/** The given day is included. */
const lastDay = z
  .union([z.literal("").transform(() => null), z.iso.date().transform((day) => endOfDay(day))], "Choose a day.")
  .refine((end) => end === null || end.getTime() > Date.now(), "Choose a day in the future.")
  .default(null);
/** Id of the loaded form: sent twice, it moves money, or creates codes, once. */
const attempt = z.uuid("Reload the page and try again.");

const wholeNumber = (most: number) =>
  z
    .string("Enter a whole number above 0.")
    .regex(/^[1-9]\d{0,8}$/, "Enter a whole number above 0.")
    .transform(Number)
    .refine((number) => number <= most, `At most ${most}.`);

/** Forms of the admin pages. Each throws a ZodError with a sentence for each invalid field. */
export const grantForm = z.object({ amount, reason, expires: lastDay, attempt });
export const refundForm = z.object({
  requestId: z.uuid("Enter a request ID, such as 0199d8a0-0000-7000-8000-000000000000."),
  amount: optionalAmount,
  reason,
  attempt,
});
export const adjustForm = z.object({ amount: change, reason, attempt });
export const codesForm = z.object({
  count: wholeNumber(500),
  amount,
  uses: wholeNumber(1_000_000),
  expires: lastDay,
  reason,
  attempt,
});
