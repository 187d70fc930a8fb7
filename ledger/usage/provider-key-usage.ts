import * as z from "zod";
import type { Reader } from "../postgres/database.ts";
import { wholeNumber } from "./sums.ts";

/** Requests that an account sent with its own keys for a provider, and their fees: a part of its usage. */
export interface ProviderKeyUsage {
  provider: string;
  requests: number;
  chargeNanoUsd: bigint;
}

const row = z.strictObject({ provider: z.string(), requests: wholeNumber, chargeNanoUsd: z.bigint() });

/** Between two UTC days, both included; by provider. */
export async function readProviderKeyUsage(
  database: Reader,
  { accountId, fromDay, toDay }: { accountId: string; fromDay: string; toDay: string },
): Promise<ProviderKeyUsage[]> {
  return database.query({
    text: `SELECT provider, sum(requests)::bigint AS requests, sum(charge_nano_usd)::bigint AS "chargeNanoUsd"
           FROM provider_key_usage_by_day WHERE account_id = $1 AND day BETWEEN $2 AND $3
           GROUP BY provider ORDER BY provider`,
    values: [accountId, fromDay, toDay],
    row,
  });
}
