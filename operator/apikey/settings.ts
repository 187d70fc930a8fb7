import { isDeepStrictEqual } from "node:util";
import { limitsSchema, type Limits } from "../../contract/limits.ts";
import type { ResourceKeySettings } from "../../ledger/keys/resource-keys.ts";
import type { ApiKeyResource } from "./resource.ts";

/** The part of an ApiKey that the ledger stores. */
export function toSettings({ metadata, spec }: ApiKeyResource): ResourceKeySettings {
  return {
    name: spec.displayName ?? metadata.name,
    isDisabled: spec.disabled,
    expiresAt: spec.expiresAt === undefined ? null : new Date(spec.expiresAt),
    allowedModels: spec.allowedModels.length === 0 ? null : [...spec.allowedModels],
    limits: toLimits(spec),
    promptLogDays: spec.promptLog?.retentionDays ?? null,
    allowedAddresses: spec.allowedAddresses.length === 0 ? null : [...spec.allowedAddresses],
    allowedOrigins: spec.allowedOrigins.length === 0 ? null : [...spec.allowedOrigins],
  };
}

function toLimits({ rateLimits = {}, spendLimit }: ApiKeyResource["spec"]): Limits {
  const spend = spendLimit === undefined ? {} : { [`spendPer${spendLimit.window}Usd`]: spendLimit.amount };
  // Without undefined members, as the column returns it.
  const limits = Object.entries({ ...rateLimits, ...spend }).filter(([, value]) => value !== undefined);
  return limitsSchema.parse(Object.fromEntries(limits));
}

export function areSettingsSame(first: ResourceKeySettings, second: ResourceKeySettings): boolean {
  return isDeepStrictEqual(first, second);
}
