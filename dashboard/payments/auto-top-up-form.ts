import * as z from "zod";
import type { AutoTopUpTerms } from "../../ledger/payments/auto-top-up.ts";
import { formatNanoUsd, parseNanoUsd } from "../../ledger/money.ts";
import { LEAST_TOP_UP, MOST_TOP_UP } from "./top-up-form.ts";

const MOST_A_MONTH = 100_000_000_000_000n;

const amount = z
  .string("Write an amount.")
  .regex(/^\d{1,6}(\.\d{1,2})?$/, "Write an amount in USD such as 20 or 20.00.")
  .transform(parseNanoUsd);

const autoTopUpForm = z
  .object({
    below: amount.refine((below) => below > 0n, "Write more than zero."),
    charge: amount.refine(
      (charge) => charge >= LEAST_TOP_UP && charge <= MOST_TOP_UP,
      `At least ${dollars(LEAST_TOP_UP)} and at most ${dollars(MOST_TOP_UP)} at once.`,
    ),
    monthly: amount.refine((monthly) => monthly <= MOST_A_MONTH, `At most ${dollars(MOST_A_MONTH)} a month.`),
  })
  .refine(({ below, charge }) => charge >= below, {
    path: ["charge"],
    message: "Charge at least the amount below which you charge, so that one charge is enough.",
  })
  .refine(({ charge, monthly }) => monthly >= charge, {
    path: ["monthly"],
    message: "Allow at least one charge a month.",
  });

/** @throws ZodError with a sentence for each field that is wrong. */
export function parseAutoTopUpForm(values: Readonly<Record<string, string>>): AutoTopUpTerms {
  const { below, charge, monthly } = autoTopUpForm.parse(values);
  return { belowNanoUsd: below, amountNanoUsd: charge, monthlyNanoUsd: monthly };
}

function dollars(nanoUsd: bigint): string {
  return `$${formatNanoUsd(nanoUsd).split(".")[0] ?? ""}`;
}
