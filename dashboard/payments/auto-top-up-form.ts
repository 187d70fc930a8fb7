import * as z from "zod";
import type { AutoTopUpTerms } from "../../ledger/payments/auto-top-up.ts";
import { formatNanoUsd, parseNanoUsd } from "../../ledger/money.ts";
import { MIN_TOP_UP, MAX_TOP_UP } from "./top-up-form.ts";

const MAX_A_MONTH = 100_000_000_000_000n;

const amount = z
  .string("Enter an amount.")
  .regex(/^\d{1,6}(\.\d{1,2})?$/, "Enter an amount in USD, such as 20 or 20.00.")
  .transform(parseNanoUsd);

const autoTopUpForm = z
  .object({
    below: amount.refine((below) => below > 0n, "Enter an amount above zero."),
    charge: amount.refine(
      (charge) => charge >= MIN_TOP_UP && charge <= MAX_TOP_UP,
      `Enter an amount from ${dollars(MIN_TOP_UP)} to ${dollars(MAX_TOP_UP)}.`,
    ),
    monthly: amount.refine((monthly) => monthly <= MAX_A_MONTH, `Enter at most ${dollars(MAX_A_MONTH)}.`),
  })
  .refine(({ below, charge }) => charge >= below, {
    path: ["charge"],
    message: "Charge at least as much as the balance that triggers it, so that one charge is enough.",
  })
  .refine(({ charge, monthly }) => monthly >= charge, {
    path: ["monthly"],
    message: "Enter at least the amount of one charge.",
  });

/** @throws ZodError with a sentence for each invalid field. */
export function parseAutoTopUpForm(values: Readonly<Record<string, string>>): AutoTopUpTerms {
  const { below, charge, monthly } = autoTopUpForm.parse(values);
  return { belowNanoUsd: below, amountNanoUsd: charge, monthlyNanoUsd: monthly };
}

function dollars(nanoUsd: bigint): string {
  return `$${formatNanoUsd(nanoUsd).split(".")[0] ?? ""}`;
}
