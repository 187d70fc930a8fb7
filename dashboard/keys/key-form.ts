import * as z from "zod";
import { isPrintable, isVisible } from "../../contract/printable.ts";
import { limitsSchema } from "../../contract/limits.ts";
import { endOfDay } from "../../contract/days.ts";
import { PROMPT_LOG_DAYS } from "../../contract/prompt-log.ts";
import { addressesSchema, normalAddresses } from "./key-addresses.ts";
import { normalOrigins, originsSchema } from "./key-origins.ts";
import type { NewKeySettings } from "./key-actions.ts";
import { filledIn, limitFields, writeLimitsForm } from "../limits/limits-form.ts";

const keyForm = z.object({
  name: z
    .string("Give the key a name.")
    .refine(isVisible, "Give the key a name.")
    .max(100, "Use at most 100 characters.")
    .refine(isPrintable, "Use one line without control characters."),
  models: z.string().optional(),
  project: z.uuid("Choose a project.").optional(),
  expires: z.iso.date("Choose a day.").optional(),
  addresses: z.string().default("").transform(listOf(addressesSchema)),
  origins: z.string().default("").transform(listOf(originsSchema)),
  prompt_log: z.coerce
    .number("Choose a number of days.")
    .int("Choose a number of days.")
    .min(PROMPT_LOG_DAYS.min, "Choose a number of days.")
    .max(PROMPT_LOG_DAYS.max, "Choose a number of days.")
    .optional(),
  ...limitFields,
});

/**
 * A key's settings as form values; an empty field means no limit.
 * @throws ZodError with a sentence for each invalid field.
 */
export function parseKeyForm(values: Readonly<Record<string, string>>): NewKeySettings {
  const { name, models, project, expires, addresses, origins, prompt_log: days, ...limits } = keyForm.parse(filledIn(values));
  const allowedModels = models?.split(",").filter((model) => model !== "") ?? [];
  return {
    name,
    allowedModels: allowedModels.length === 0 ? null : allowedModels,
    // The given day is included.
    expiresAt: expires === undefined ? null : endOfDay(expires),
    limits: limitsSchema.parse(limits),
    allowedAddresses: normalAddresses(addresses),
    allowedOrigins: normalOrigins(origins),
    // Only owners are offered a prompt log.
    promptLogDays: "prompt_log" in values ? (days ?? null) : undefined,
    // Without projects, the form does not offer any.
    projectId: "project" in values ? (project ?? null) : undefined,
  };
}

/** The form has one field for all texts of a list, and room for one problem. */
function listOf(schema: z.ZodType<string[]>) {
  return (text: string, context: z.RefinementCtx<string>): string[] => {
    const read = schema.safeParse(text.split(/[\s,;]+/).filter((each) => each !== ""));
    if (read.success) return read.data;
    context.addIssue({ code: "custom", message: read.error.issues[0]?.message ?? "" });
    return z.NEVER;
  };
}

/** The reverse, to be shown in the form. */
export function writeKeyForm(settings: NewKeySettings): Record<string, string> {
  const { name, allowedModels, expiresAt, limits, allowedAddresses, allowedOrigins, promptLogDays, projectId } = settings;
  const last = expiresAt === null ? "" : new Date(expiresAt.getTime() - 1).toISOString().slice(0, 10);
  return {
    name,
    models: allowedModels?.join(",") ?? "",
    expires: last,
    project: projectId ?? "",
    addresses: allowedAddresses?.join("\n") ?? "",
    origins: allowedOrigins?.join("\n") ?? "",
    prompt_log: String(promptLogDays ?? ""),
    ...writeLimitsForm(limits),
  };
}
