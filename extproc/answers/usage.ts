import * as z from "zod";
import { readDays, type DaySpan } from "../../contract/days.ts";
import { GatewayError } from "../../contract/errors.ts";
import type { Label } from "../../contract/labels.ts";
import { formatNanoUsd } from "../../ledger/money.ts";
import type { LabelUsagePage, LabelPosition, UsageOfLabel } from "../../ledger/usage/label-reports.ts";
import { readDimension, readLabel } from "../../contract/label-query.ts";
import { decodeLabelCursor, encodeLabelCursor } from "../../ledger/usage/label-cursor.ts";
import type { LabelledRequest } from "../../ledger/usage/request-labels.ts";
import type { UsageByModelAndDay } from "../../ledger/usage/reports.ts";
import type { UsageSums } from "../../ledger/usage/sums.ts";
import type { WorldKey } from "../world/world.ts";

/** Reads a key's own usage; days are UTC, `YYYY-MM-DD`, both ends included. */
export interface UsageReport {
  byModelAndDay(range: UsageRange): Promise<UsageByModelAndDay[]>;
  /** Of the requests with this label alone. */
  withLabel(range: UsageRange & Label): Promise<UsageByModelAndDay[]>;
  /** Attempt by attempt; empty where the account has no such request, or not yet. */
  ofRequest(request: { accountId: string; requestId: string }): Promise<LabelledRequest[]>;
  byLabel(range: UsageRange & { dimension: string; limit: number; after?: LabelPosition | undefined }): Promise<LabelUsagePage>;
}

interface UsageRange extends DaySpan {
  accountId: string;
  keyId: string;
}

export interface DescribeUsageInput {
  query: URLSearchParams;
  key: WorldKey;
  readUsage: UsageReport;
  nowMs: number;
}

const DEFAULT_LIMIT = 50;
const MAX_LIMIT = 200;

/**
 * `GET /v1/usage?from=…&to=…` (S29): the key's own usage by model and day, of a tag or an end user where one is named; or by the
 * values of a tag or by end user, in pages (S47). Without a range, the last 30 days.
 * @throws GatewayError `invalid_request` for an invalid range, filter or page.
 */
export async function describeUsage({ query, key, readUsage, nowMs }: DescribeUsageInput): Promise<object> {
  const { fromDay, toDay } = readDays({ from: readDay(query, "from"), to: readDay(query, "to") }, nowMs);
  const range = { accountId: key.accountId, keyId: key.publicId, fromDay, toDay };
  const head = { object: "usage", currency: "USD", from: fromDay, to: toDay };
  const groupBy = query.get("group_by");
  const label = readLabel({ tag: query.get("tag") ?? undefined, endUser: query.get("end_user") ?? undefined });
  if (groupBy === null || groupBy === "model") {
    const rows = label === undefined ? await readUsage.byModelAndDay(range) : await readUsage.withLabel({ ...range, ...label });
    return { ...head, data: rows.map(describeRow) };
  }
  if (label !== undefined)
    throw new GatewayError("invalid_request", "`group_by` of a tag or of `end_user` takes no filter. Leave one of them out.", {
      field: "group_by",
    });
  const dimension = readDimension(groupBy);
  const { values, next } = await readUsage.byLabel({ ...range, dimension, limit: readLimit(query), after: readAfter(query) });
  const cursor = next === null ? null : encodeLabelCursor(next);
  return { ...head, group_by: groupBy, data: values.map(describeValue), next_cursor: cursor };
}

function readLimit(query: URLSearchParams): number {
  const text = query.get("limit");
  if (text === null) return DEFAULT_LIMIT;
  const limit = Number(text);
  if (Number.isInteger(limit) && limit >= 1 && limit <= MAX_LIMIT) return limit;
  throw new GatewayError("invalid_request", `\`limit\` must be a whole number from 1 to ${MAX_LIMIT}.`, { field: "limit" });
}

function readAfter(query: URLSearchParams): LabelPosition | undefined {
  const cursor = query.get("cursor");
  return cursor === null ? undefined : decodeLabelCursor(cursor);
}

function describeRow(row: UsageByModelAndDay): object {
  return { day: row.day, model: row.model, ...describeSums(row) };
}

function describeValue({ value, ...sums }: UsageOfLabel): object {
  return { value: value === "" ? null : value, is_other: value === "", ...describeSums(sums) };
}

function describeSums(row: UsageSums): object {
  return { requests: row.requests, ...describeCharge(row) };
}

export function describeCharge(row: Omit<UsageSums, "requests">): object {
  return {
    tokens: {
      input: row.inputTokens,
      cached_input: row.cachedInputTokens,
      cache_write: row.cacheWriteTokens,
      output: row.outputTokens,
      reasoning: row.reasoningTokens,
    },
    searches: row.searches,
    images: row.images,
    characters: row.characters,
    seconds: row.seconds,
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
