import * as z from "zod";
import { GatewayError } from "../../contract/errors.ts";
import { formatNanoUsd } from "../../ledger/money.ts";
import type { UsageByModelAndDay } from "../../ledger/usage/reports.ts";
import type { WorldKey } from "../world/world.ts";

/** Reads a key's own usage; days are UTC, `YYYY-MM-DD`, both ends included. */
export type UsageReport = (range: { keyId: string; fromDay: string; toDay: string }) => Promise<UsageByModelAndDay[]>;

export interface DescribeUsageInput {
  query: URLSearchParams;
  key: WorldKey;
  readUsage: UsageReport;
  nowMs: number;
}

const DAY_MS = 86_400_000;
const MAX_DAYS = 366;
const DEFAULT_DAYS = 30;

/**
 * `GET /v1/usage?from=…&to=…` (S29): the key's own usage by model and day. Without a range, the last 30 days.
 * @throws GatewayError `invalid_request` for a range that is none.
 */
export async function describeUsage({ query, key, readUsage, nowMs }: DescribeUsageInput): Promise<object> {
  const toDay = readDay(query, "to") ?? dayOf(nowMs);
  const fromDay = readDay(query, "from") ?? dayOf(Date.parse(toDay) - (DEFAULT_DAYS - 1) * DAY_MS);
  const days = (Date.parse(toDay) - Date.parse(fromDay)) / DAY_MS + 1;
  if (days < 1)
    throw new GatewayError("invalid_request", "`from` is after `to`. Send the earlier day as `from`.", { field: "from" });
  if (days > MAX_DAYS)
    throw new GatewayError("invalid_request", `The range has more than ${MAX_DAYS} days. Ask for a shorter one.`, {
      field: "from",
    });

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

function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}
