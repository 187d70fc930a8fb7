import * as z from "zod";
import { parseNanoUsd } from "../../ledger/money.ts";
import { typedAmount } from "../http/typed-amount.ts";
import { showUsd } from "../money.ts";

/** Of one payment. */
export const MIN_TOP_UP = 5_000_000_000n;
export const MAX_TOP_UP = 5_000_000_000_000n;

/** In dollars and cents. */
export const paidAmount = z
  .string("Enter an amount.")
  .overwrite(typedAmount)
  .regex(/^\d{1,12}(\.\d{1,2})?$/, "Enter an amount in USD, such as 20 or 20.00.")
  .transform(parseNanoUsd);
export const topUpAmount = paidAmount.refine(
  (amount) => amount >= MIN_TOP_UP && amount <= MAX_TOP_UP,
  `Enter an amount from ${showUsd(MIN_TOP_UP)} to ${showUsd(MAX_TOP_UP)}.`,
);

const topUpForm = z.object({
  amount: topUpAmount,
  attempt: z.uuid("This page has expired. Reload it."),
});

/** @throws ZodError with a sentence for each field that is wrong. */
export function parseTopUpForm(values: Readonly<Record<string, string>>): { amountNanoUsd: bigint; attemptId: string } {
  const { amount, attempt } = topUpForm.parse(values);
  return { amountNanoUsd: amount, attemptId: attempt };
}
