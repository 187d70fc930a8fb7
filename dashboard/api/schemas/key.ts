import * as z from "zod";
import { PROMPT_LOG_DAYS } from "../../../contract/prompt-log.ts";
import type { ListedKey } from "../../../ledger/keys/key-list.ts";
import type { KeyChange } from "../../../ledger/keys/key-settings.ts";
import { addressesSchema, normalAddresses } from "../../keys/key-addresses.ts";
import { normalOrigins, originsSchema } from "../../keys/key-origins.ts";
import type { NewKeySettings } from "../../keys/key-actions.ts";
import { limits, readLimits, showLimits } from "./limits.ts";
import { keyId, model, moment, projectId, showMoment, showMomentOrNull, showMoney, usd, words } from "./values.ts";

export const key = z
  .object({
    id: keyId,
    name: z.string(),
    masked: z.string().meta({ examples: ["sk-mg-AbCd****WxYz"] }),
    status: z.enum(["active", "disabled", "expired"]),
    created_at: moment,
    last_used_at: moment.nullable(),
    expires_at: moment.nullable(),
    allowed_models: z.array(z.string()).nullable().meta({ description: "null: all models" }),
    allowed_addresses: z
      .array(z.string())
      .nullable()
      .meta({
        description: "IP addresses and ranges from which it may be used; null: from anywhere",
        examples: [["203.0.113.7"]],
      }),
    allowed_origins: z
      .array(z.string())
      .nullable()
      .meta({
        description: "Origins of the web pages that alone may use it; null: no page, and any other program",
        examples: [["https://app.example.com"]],
      }),
    limits,
    prompt_log_days: z
      .int()
      .nullable()
      .meta({ description: "For how many days prompts and answers are kept; null: they are not recorded" }),
    project_id: z.uuid().nullable(),
    previous_value_until: moment.nullable().meta({ description: "When the value from before the last rotation stops working" }),
    spent: z.object({ today: usd, this_month: usd, total: usd }),
  })
  .meta({ id: "Key" });

export const keyWithValue = z
  .object({
    ...key.shape,
    value: z.string().meta({ description: "The full value. Only this response contains it." }),
  })
  .meta({ id: "NewKey" });

const name = words("A name", 100);
const allowedModels = z.array(model).min(1, "Name a model, or send null for all.").max(200).nullable();
const allowedAddresses = addressesSchema
  .min(1, "Name an address, or send null for all.")
  .nullable()
  .meta({ description: "IP addresses and ranges in CIDR notation, as the gateway sees its clients; null: from anywhere" });
const allowedOrigins = originsSchema
  .min(1, "Name an origin, or send null for none.")
  .nullable()
  .meta({ description: "Origins of web pages, such as https://app.example.com; null: no page, and any other program" });
const promptLogDays = z
  .int("Write a whole number.")
  .min(PROMPT_LOG_DAYS.min, `At least ${PROMPT_LOG_DAYS.min}.`)
  .max(PROMPT_LOG_DAYS.max, `At most ${PROMPT_LOG_DAYS.max}.`)
  .nullable()
  .meta({
    description: "Records prompts and answers, encrypted, for this many days; null: none. Requires the owner role",
  });
const expiresAt = z.iso
  .datetime({ error: "Must be a UTC timestamp such as 2026-12-31T00:00:00Z." })
  .refine((text) => Date.parse(text) > Date.now(), "Must be in the future.")
  .nullable();

export const newKey = z.strictObject({
  name,
  project_id: projectId.nullable().optional(),
  allowed_models: allowedModels.optional(),
  allowed_addresses: allowedAddresses.optional(),
  allowed_origins: allowedOrigins.optional(),
  expires_at: expiresAt.optional(),
  limits: limits.optional(),
  prompt_log_days: promptLogDays.optional(),
});

export const keyChange = z
  .strictObject({
    name: name.optional(),
    project_id: projectId.nullable().optional().meta({ description: "null takes the key out of its project." }),
    allowed_models: allowedModels.optional(),
    allowed_addresses: allowedAddresses.optional(),
    allowed_origins: allowedOrigins.optional(),
    expires_at: expiresAt.optional(),
    limits: limits.optional().meta({ description: "Replaces all limits of the key." }),
    prompt_log_days: promptLogDays.optional(),
    disabled: z.boolean("Must be true or false.").optional(),
  })
  .meta({ description: "Omitted fields stay unchanged." });

export const rotation = z
  .strictObject({
    overlap_hours: z.int("Write a whole number.").min(0, "At least 0.").max(168, "At most 168.").optional(),
  })
  .nullish()
  .meta({ description: "How many hours the previous value keeps working; default 24." });

export function readNewKey(sent: z.infer<typeof newKey>): NewKeySettings {
  return {
    name: sent.name,
    allowedModels: sent.allowed_models ?? null,
    allowedAddresses: readList(sent.allowed_addresses, normalAddresses) ?? null,
    allowedOrigins: readList(sent.allowed_origins, normalOrigins) ?? null,
    expiresAt: readMoment(sent.expires_at) ?? null,
    limits: readLimits(sent.limits ?? {}),
    promptLogDays: sent.prompt_log_days,
    projectId: sent.project_id,
  };
}

export function readKeyChange(change: z.infer<typeof keyChange>): KeyChange {
  return {
    name: change.name,
    allowedModels: change.allowed_models,
    allowedAddresses: readList(change.allowed_addresses, normalAddresses),
    allowedOrigins: readList(change.allowed_origins, normalOrigins),
    expiresAt: readMoment(change.expires_at),
    limits: change.limits && readLimits(change.limits),
    promptLogDays: change.prompt_log_days,
    isDisabled: change.disabled,
    projectId: change.project_id,
  };
}

function readList(
  sent: string[] | null | undefined,
  normal: (texts: readonly string[]) => string[] | null,
): string[] | null | undefined {
  return Array.isArray(sent) ? normal(sent) : sent;
}

function readMoment(text: string | null | undefined): Date | null | undefined {
  return typeof text === "string" ? new Date(text) : text;
}

export function showKey(listed: ListedKey): z.infer<typeof key> {
  return {
    id: listed.publicId,
    name: listed.name,
    masked: listed.masked,
    status: listed.status,
    created_at: showMoment(listed.createdAt),
    last_used_at: showMomentOrNull(listed.lastUsedAt),
    expires_at: showMomentOrNull(listed.expiresAt),
    allowed_models: listed.allowedModels,
    allowed_addresses: listed.allowedAddresses === null ? null : [...listed.allowedAddresses],
    allowed_origins: listed.allowedOrigins === null ? null : [...listed.allowedOrigins],
    limits: showLimits(listed.limits),
    prompt_log_days: listed.promptLogDays,
    project_id: listed.projectId,
    previous_value_until: showMomentOrNull(listed.previousUntil),
    spent: {
      today: showMoney(listed.spentTodayNanoUsd),
      this_month: showMoney(listed.spentThisMonthNanoUsd),
      total: showMoney(listed.spentNanoUsd),
    },
  };
}
