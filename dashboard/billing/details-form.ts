import * as z from "zod";
import type { BillingDetails } from "../../ledger/billing/billing-details.ts";
import { loadFonts } from "../pdf/fonts.ts";
import { addressLines, MAX_ADDRESS_LINES } from "./address.ts";

/** Control characters and invisible marks. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cs}]/u;
const isVisible = (text: string) => !INVISIBLE.test(text.replaceAll("\n", ""));
const HIDDEN = "Remove invisible characters.";

/** For the pages' form and the management API. */
const billingDetailsSchema = z.object({
  name: z
    .string("Enter a name.")
    .trim()
    .min(1, "Enter a name.")
    .max(120, "Use at most 120 characters.")
    .refine((text) => isVisible(text) && !text.includes("\n"), HIDDEN),
  address: z
    .string()
    .max(400, "Use at most 400 characters.")
    .transform((text) => addressLines(text).join("\n"))
    .refine((text) => text.split("\n").length <= MAX_ADDRESS_LINES, `Use at most ${MAX_ADDRESS_LINES} lines.`)
    .refine(isVisible, HIDDEN)
    .default(""),
  /** Empty: none. */
  taxId: z
    .string()
    .trim()
    .regex(
      /^([A-Za-z0-9][A-Za-z0-9 ./-]{2,39})?$/,
      "Enter a tax ID such as DE123456789: 3 to 40 letters, digits, spaces, dots, slashes and dashes.",
    )
    .default(""),
});

/** @throws ZodError with a sentence for each invalid field. */
export async function parseBillingDetails(values: unknown): Promise<BillingDetails> {
  const fonts = await loadFonts();
  const printable = billingDetailsSchema.superRefine((details, context) => {
    for (const field of ["name", "address"] as const) {
      const missing = fonts.missingFrom(details[field]);
      if (missing.length > 0)
        context.addIssue({
          code: "custom",
          path: [field],
          message: `PDF documents cannot show ${missing.slice(0, 5).join(" ")}. Use Latin, Greek, Cyrillic, Armenian, Georgian, Chinese or Japanese characters.`,
        });
    }
  });
  return printable.parse(values);
}
