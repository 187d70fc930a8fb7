import * as z from "zod";
import { limitsSchema } from "../../contract/limits.ts";
import { endOfDay } from "../../contract/days.ts";
import type { NewKeySettings } from "./key-actions.ts";
import { filledIn, limitFields, writeLimitsForm } from "../limits/limits-form.ts";

const keyForm = z.object({
  name: z.string("Give the key a name.").min(1, "Give the key a name.").max(100, "Use at most 100 characters."),
  models: z.string().optional(),
  project: z.uuid("Choose a project.").optional(),
  expires: z.iso.date("Choose a day.").optional(),
  ...limitFields,
});

/**
 * A key's settings as form values; an empty field means no limit.
 * @throws ZodError with a sentence for each invalid field.
 */
export function parseKeyForm(values: Readonly<Record<string, string>>): NewKeySettings {
  const { name, models, project, expires, ...limits } = keyForm.parse(filledIn(values));
  const allowedModels = models?.split(",").filter((model) => model !== "") ?? [];
  return {
    name,
    allowedModels: allowedModels.length === 0 ? null : allowedModels,
    // The given day is included.
    expiresAt: expires === undefined ? null : endOfDay(expires),
    limits: limitsSchema.parse(limits),
    // Without projects, the form does not offer any.
    projectId: "project" in values ? (project ?? null) : undefined,
  };
}

/** The reverse, to be shown in the form. */
export function writeKeyForm({ name, allowedModels, expiresAt, limits, projectId }: NewKeySettings): Record<string, string> {
  const last = expiresAt === null ? "" : new Date(expiresAt.getTime() - 1).toISOString().slice(0, 10);
  return { name, models: allowedModels?.join(",") ?? "", expires: last, project: projectId ?? "", ...writeLimitsForm(limits) };
}
