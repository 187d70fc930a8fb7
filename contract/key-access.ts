import * as z from "zod";
import { limitsSchema, readStoredLimits, type Limits, type StoredLimits } from "./limits.ts";

/** From where a key may be used. */
export interface KeyAccess {
  /** Addresses and ranges in their canonical form (runtime/ip-network.ts); null: from anywhere. */
  allowedAddresses: readonly string[] | null;
  /** Origins of web pages in their canonical form (runtime/web-origin.ts); null: by no page, and by any other program. */
  allowedOrigins: readonly string[] | null;
}

export const UNBOUND: KeyAccess = { allowedAddresses: null, allowedOrigins: null };

/**
 * Stored among the key's limits: a version that does not know one of these members refuses the key, instead of serving it from
 * anywhere (docs/decisions/0042).
 */
const list = z.array(z.string()).min(1).optional();
const accessMembers = { allowedAddresses: list, allowedOrigins: list };
export const ACCESS_NAMES = ["allowedAddresses", "allowedOrigins"] as const;

/** The limits of a key in force, strictly: they are not applied in part. */
export const keyLimitsSchema = z
  .strictObject({ ...limitsSchema.shape, ...accessMembers })
  .transform(({ allowedAddresses = null, allowedOrigins = null, ...limits }): KeyAccess & { limits: Limits } => ({
    limits,
    allowedAddresses,
    allowedOrigins,
  }));

/** The same for pages, which show what they can. */
export const storedKeyLimitsSchema = z
  .record(z.string(), z.unknown())
  .transform(({ allowedAddresses, allowedOrigins, ...stored }): KeyAccess & StoredLimits => {
    const { limits, unknownLimits } = readStoredLimits(stored);
    const lists = { allowedAddresses: list.safeParse(allowedAddresses), allowedOrigins: list.safeParse(allowedOrigins) };
    return {
      limits,
      allowedAddresses: lists.allowedAddresses.data ?? null,
      allowedOrigins: lists.allowedOrigins.data ?? null,
      unknownLimits: [...unknownLimits, ...ACCESS_NAMES.filter((name) => !lists[name].success)],
    };
  });

/** As the column has it, next to the limits. */
export function encodeAccess(access: KeyAccess): Readonly<Record<string, readonly string[]>> {
  return Object.fromEntries(
    ACCESS_NAMES.flatMap((name): [string, readonly string[]][] => {
      const allowed = access[name];
      return allowed === null ? [] : [[name, allowed]];
    }),
  );
}
