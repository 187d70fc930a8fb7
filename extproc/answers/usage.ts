import * as z from "zod";
import { GatewayError } from "../../contract/errors.ts";
import { formatNanoUsd } from "../../ledger/money.ts";
import type { UsageByModelAndDay } from "../../ledger/usage/reports.ts";
import type { WorldKey } from "../world/world.ts";
import { readDays } from "../../contract/days.ts";

/** Reads a key's own usage; days are UTC, `YYYY-MM-DD`, both ends included. */
export type UsageReport = (range: { keyId: string; fromDay: string; toDay: string }) => Promise<UsageByModelAndDay[]>;

export interface DescribeUsageInput {
  query: URLSearchParams;
  key: WorldKey;
  readUsage: UsageReport;
  nowMs: number;
}

/**
 * `GET /v1/usage?from=…&to=…` (S29): the key's own usage by model and day. Without a range, the last 30 days.
 * @throws GatewayError `invalid_request` for an invalid range.
 */
export async function describeUsage({ query, key, readUsage, nowMs }: DescribeUsageInput): Promise<object> {
  const { fromDay, toDay } = readDays({ from: readDay(query, "from"), to: readDay(query, "to") }, nowMs);
  const rows = await readUsage({ keyId: key.publicId, fromDay, toDay });
  return { object: "usage", currency: "USD", from: fromDay, to: toDay, data: rows.map(describeRow) };
}

function describeRow(row: UsageByModelAndDay): object {
  return {
    day: row.day,
    model: row.model,
    requests: row.requests,
    tokens: {
      input: row.inputTokens,
      cached_input: row.cachedInputTokens,
      cache_write: row.cacheWriteTokens,
      output: row.outputTokens,
      reasoning: row.reasoningTokens,
    },
    amount: formatNanoUsd(row.chargeNanoUsd),
  };
}

const daySchema = z.iso.date();

function readDay(query: URLSearchParams, name: string): string | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  const day = daySchema.safeParse(text);
  if (day.success) return day.data;
  throw new GatewayError("invalid_request", `\`${name}\` must be a UTC day such as 2026-11-21.`, { field: name });
}
