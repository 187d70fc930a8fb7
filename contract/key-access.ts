import * as z from "zod";
import { limitsSchema, readStoredLimits, type Limits, type StoredLimits } from "./limits.ts";

/** From where a key may be used. */
export interface KeyAccess {
  /** Addresses and ranges in their canonical form (runtime/ip-network.ts); null: from anywhere. */
  allowedAddresses: readonly string[] | null;
}

/**
 * Stored among the key's limits: a version that does not know one of these members refuses the key, instead of serving it from
 * anywhere (docs/decisions/0042).
 */
const accessMembers = { allowedAddresses: z.array(z.string()).min(1).optional() };
export const ACCESS_NAMES = Object.keys(accessMembers);

/** The limits of a key in force, strictly: they are not applied in part. */
export const keyLimitsSchema = z
  .strictObject({ ...limitsSchema.shape, ...accessMembers })
  .transform(({ allowedAddresses = null, ...limits }): KeyAccess & { limits: Limits } => ({ limits, allowedAddresses }));

/** The same for pages, which show what they can. */
export const storedKeyLimitsSchema = z
  .record(z.string(), z.unknown())
  .transform(({ allowedAddresses, ...stored }): KeyAccess & StoredLimits => {
    const read = readStoredLimits(stored);
    const addresses = accessMembers.allowedAddresses.safeParse(allowedAddresses);
    return addresses.success
      ? { ...read, allowedAddresses: addresses.data ?? null }
      : { ...read, allowedAddresses: null, unknownLimits: [...read.unknownLimits, "allowedAddresses"] };
  });

/** As the column has it, next to the limits. */
export function encodeAccess({ allowedAddresses }: KeyAccess): Readonly<Record<string, readonly string[]>> {
  return allowedAddresses === null ? {} : { allowedAddresses };
}
