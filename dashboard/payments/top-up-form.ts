import * as z from "zod";
import { formatNanoUsd, parseNanoUsd } from "../../ledger/money.ts";

/** Of one payment. */
export const MIN_TOP_UP = 5_000_000_000n;
export const MAX_TOP_UP = 5_000_000_000_000n;

const topUpForm = z.object({
  amount: z
    .string("Enter an amount.")
    .regex(/^\d{1,6}(\.\d{1,2})?$/, "Enter an amount in USD, such as 20 or 20.00.")
    .transform(parseNanoUsd)
    .refine(
      (amount) => amount >= MIN_TOP_UP && amount <= MAX_TOP_UP,
      `Enter an amount from $${dollars(MIN_TOP_UP)} to $${dollars(MAX_TOP_UP)}.`,
    ),
  attempt: z.uuid("This page has expired. Reload it."),
});

/** @throws ZodError with a sentence for each field that is wrong. */
export function parseTopUpForm(values: Readonly<Record<string, string>>): { amountNanoUsd: bigint; attemptId: string } {
  const { amount, attempt } = topUpForm.parse(values);
  return { amountNanoUsd: amount, attemptId: attempt };
}

function dollars(nanoUsd: bigint): string {
  return formatNanoUsd(nanoUsd).split(".")[0] ?? "";
}
