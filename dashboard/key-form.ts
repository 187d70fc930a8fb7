import * as z from "zod";
import { COUNT_LIMITS, LIMIT_NAMES, limitsSchema, USD_AMOUNT } from "../contract/limits.ts";
import type { KeySettings } from "../ledger/keys/key-settings.ts";
import { endOfDay } from "../contract/days.ts";

const amount = z.string().regex(USD_AMOUNT, "Enter an amount in USD, such as 5.00.").optional();
const count = z
  .string()
  .regex(/^[1-9]\d{0,8}$/, "Enter a whole number above 0.")
  .transform(Number)
  .optional();

const keyForm = z.object({
  name: z.string("Give the key a name.").min(1, "Give the key a name.").max(100, "Use at most 100 characters."),
  models: z.string().optional(),
  expires: z.iso.date("Choose a day.").optional(),
  ...Object.fromEntries(LIMIT_NAMES.map((name) => [name, COUNT_LIMITS.includes(name) ? count : amount])),
});

/**
 * A key's settings as its form has them; what is left empty is not limited.
 * @throws ZodError with a sentence for each field that is wrong.
 */
export function parseKeyForm(values: Readonly<Record<string, string>>): Omit<KeySettings, "isDisabled"> {
  const filled = Object.fromEntries(Object.entries(values).filter(([, value]) => value !== ""));
  const { name, models, expires, ...limits } = keyForm.parse(filled);
  const allowedModels = models?.split(",").filter((model) => model !== "") ?? [];
  return {
    name,
    allowedModels: allowedModels.length === 0 ? null : allowedModels,
    // The day that is named is the last one.
    expiresAt: expires === undefined ? null : endOfDay(expires),
    limits: limitsSchema.parse(limits),
  };
}

/** The other way round, to be shown in the form. */
export function writeKeyForm({
  name,
  allowedModels,
  expiresAt,
  limits,
}: Omit<KeySettings, "isDisabled">): Record<string, string> {
  const last = expiresAt === null ? "" : new Date(expiresAt.getTime() - 1).toISOString().slice(0, 10);
  const texts = Object.entries(limits).map(([field, value]) => [field, String(value)] as const);
  return { name, models: allowedModels?.join(",") ?? "", expires: last, ...Object.fromEntries(texts) };
}
