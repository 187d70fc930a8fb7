import * as z from "zod";
import type { AutoTopUpTerms } from "../../ledger/payments/auto-top-up.ts";
import { showUsd } from "../money.ts";
import { paidAmount, topUpAmount } from "./top-up-form.ts";

const MAX_A_MONTH = 100_000_000_000_000n;

const autoTopUpForm = z
  .object({
    below: paidAmount.refine((below) => below > 0n, "Enter an amount above zero."),
    charge: topUpAmount,
    monthly: paidAmount.refine((monthly) => monthly <= MAX_A_MONTH, `Enter at most ${showUsd(MAX_A_MONTH)}.`),
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
