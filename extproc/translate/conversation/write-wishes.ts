import { DEFAULT_VERBOSITY, type Profile, type Verbosity } from "../../../contract/profile.ts";
import type { Encodable } from "../../protocol/json/raw.ts";
import type { Omitted } from "./conversation.ts";
import { shortUserId } from "./user-id.ts";
import type { Wishes } from "./wish.ts";

/** Options with the same form for chat and Responses servers. */

type Members = { readonly [name: string]: Encodable };

export function writeIdentity(
  { user, safetyIdentifier, tier }: Wishes,
  { rejects, accepts }: Profile,
  { wishes: omitted }: Omitted,
): Members {
  const takesUser = !rejects.includes("user");
  const takesSafety = accepts.includes("safety_identifier");
  // The older field names the same person.
  const id = user?.id ?? (takesSafety ? null : safetyIdentifier);
  if (!takesUser && user !== null) omitted.add(user.field);
  if (!takesUser && !takesSafety && safetyIdentifier !== null) omitted.add("safety_identifier");
  const takesTier = !rejects.includes("service_tier");
  if (tier !== null && !takesTier) omitted.add("service_tier");
  return {
    user: id !== null && takesUser ? shortUserId(id) : undefined,
    safety_identifier: safetyIdentifier !== null && takesSafety ? shortUserId(safetyIdentifier) : undefined,
    service_tier: tier !== null && takesTier ? (tier === "auto" ? "auto" : "default") : undefined,
  };
}

/** Every server's cache is kept for a while. */
export const DEFAULT_RETENTION = "in_memory";

export function writePromptCache(
  { promptCache: { key, retention } }: Wishes,
  { accepts }: Profile,
  { wishes: omitted }: Omitted,
): Members {
  const members: { [name: string]: Encodable } = {};
  for (const [name, value] of [
    ["prompt_cache_key", key],
    ["prompt_cache_retention", retention],
  ] as const) {
    if (value === null) continue;
    if (accepts.includes(name)) members[name] = value;
    else if (value !== DEFAULT_RETENTION) omitted.add(name);
  }
  return members;
}

/** Undefined if the server does not support it. */
export function writeVerbosity({ verbosity }: Wishes, { accepts }: Profile, { wishes: omitted }: Omitted): Verbosity | undefined {
  if (verbosity === null) return undefined;
  if (accepts.includes("verbosity")) return verbosity.level;
  if (verbosity.level !== DEFAULT_VERBOSITY) omitted.add(verbosity.field);
  return undefined;
}
