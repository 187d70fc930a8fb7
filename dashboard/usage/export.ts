import type { Reader } from "../../ledger/postgres/database.ts";
import { formatNanoUsd } from "../../ledger/money.ts";
import { usageByProject } from "../../ledger/usage/project-series.ts";
import { usageByMember } from "../../ledger/usage/member-series.ts";
import { usageByKey, usageByModelAndDay, type KeyUsagePosition } from "../../ledger/usage/reports.ts";
import type { ListedRequest } from "../../ledger/usage/listed-request.ts";
import { listRequests, type RequestPosition } from "../../ledger/usage/request-list.ts";
import { addUsage, NO_USAGE_SUMS, type UsageSums } from "../../ledger/usage/sums.ts";
import type { Cell, TableFile } from "./table-file.ts";
import { listingOf, type RequestFilter } from "./filter.ts";
import { readMemberNames } from "./member-names.ts";
import { NO_PROJECT } from "./projects.ts";
import type { DayRange } from "./range.ts";
import { endUserIn, tagName, tagsIn } from "../../contract/labels.ts";
import { usageByLabel, type LabelPosition } from "../../ledger/usage/label-reports.ts";
import { readLabelsOf, type LabelledRequest } from "../../ledger/usage/request-labels.ts";
import { momentsOf } from "../../contract/days.ts";
import type { Interface } from "../../contract/protocol.ts";
import { unitsByKind } from "../../contract/units.ts";
import { perMillion, perThousand, pricePerImage, pricePerMinute } from "../money.ts";

/** A part of an account's usage. Totals know keys, projects and models; outcomes are only in the file of requests. */
export interface UsageSelection {
  accountId: string;
  range: DayRange;
  filter: RequestFilter;
  /** Some of the account's requests have tags or an end user. */
  hasLabels: boolean;
  /** Of which tag the values are, or `end_user`: for the file by label. */
  dimension: string;
}

const PORTION = 500;
const MAX_MEMBERS = 1_000;
const MAX_PROJECTS = 1_000;
const SUMS = [
  "requests",
  "input_tokens",
  "cached_input_tokens",
  "cache_write_tokens",
  "output_tokens",
  "reasoning_tokens",
  "searches",
  "images",
  "characters",
  "seconds_of_sound",
  "charge_usd",
];

/** By UTC day and model, oldest day first. */
export function exportDays(database: Reader, selection: UsageSelection): TableFile {
  async function* portions(): AsyncGenerator<Cell[][]> {
    const rows = await readDays(database, selection);
    yield rows.map(({ day, model, ...sums }) => [{ number: day }, { text: model }, ...sumCells(sums)]);
  }
  return { columns: ["day", "model", ...SUMS], portions: portions() };
}

export function exportModels(database: Reader, selection: UsageSelection): TableFile {
  async function* portions(): AsyncGenerator<Cell[][]> {
    const byModel = new Map<string, UsageSums>();
    for (const row of await readDays(database, selection))
      byModel.set(row.model, addUsage(byModel.get(row.model) ?? NO_USAGE_SUMS, row));
    yield [...byModel].map(([model, sums]) => [{ text: model }, ...sumCells(sums)]);
  }
  return { columns: ["model", ...SUMS], portions: portions() };
}

/** All keys that were used, including those deleted since. */
export function exportKeys(database: Reader, { accountId, range, filter }: UsageSelection): TableFile {
  async function* portions(): AsyncGenerator<Cell[][]> {
    const { fromDay, toDay } = range;
    let after: KeyUsagePosition | null | undefined;
    while (after !== null) {
      const page = await usageByKey(database, { accountId, projectId: filter.project, fromDay, toDay, limit: PORTION, after });
      yield page.keys.map(({ keyId, name, isRevoked, ...sums }) => [
        { text: keyId },
        { text: name },
        { text: isRevoked ? "yes" : "no" },
        ...sumCells(sums),
      ]);
      after = page.next;
    }
  }
  return { columns: ["key_id", "key_name", "is_deleted", ...SUMS], portions: portions() };
}

/** Projects by the keys that are in them now, highest charge first. */
export function exportProjects(database: Reader, { accountId, range, filter }: UsageSelection): TableFile {
  async function* portions(): AsyncGenerator<Cell[][]> {
    const { fromDay, toDay } = range;
    const projects = await usageByProject(database, { accountId, fromDay, toDay, step: "range", most: MAX_PROJECTS });
    const chosen = projects.filter(({ projectId }) => filter.project === undefined || projectId === filter.project);
    yield chosen.map(({ projectId, name, isDeleted, ...sums }) => [
      { text: projectId },
      { text: projectId === "" ? NO_PROJECT : name },
      { text: isDeleted ? "yes" : "no" },
      ...sumCells(sums),
    ]);
  }
  return { columns: ["project_id", "project", "is_deleted", ...SUMS], portions: portions() };
}

/** Members by the keys that they created, highest charge first. */
export function exportMembers(database: Reader, { accountId, range, filter }: UsageSelection): TableFile {
  async function* portions(): AsyncGenerator<Cell[][]> {
    const { fromDay, toDay } = range;
    const { project: projectId } = filter;
    const members = await usageByMember(database, { accountId, projectId, fromDay, toDay, step: "range", most: MAX_MEMBERS });
    const ids = members.map(({ personId }) => personId);
    const names = await readMemberNames(database, accountId, ids);
    yield members.map(({ personId, ...sums }) => [{ text: personId }, { text: names.get(personId) ?? "" }, ...sumCells(sums)]);
  }
  return { columns: ["member_id", "member", ...SUMS], portions: portions() };
}

/** All values of a tag, or all end users, the dearest first. */
export function exportLabels(database: Reader, { accountId, range, dimension }: UsageSelection): TableFile {
  async function* portions(): AsyncGenerator<Cell[][]> {
    const { fromDay, toDay } = range;
    let after: LabelPosition | null | undefined;
    while (after !== null) {
      const page = await usageByLabel(database, { accountId, fromDay, toDay, dimension, limit: PORTION, after });
      yield page.values.map(({ value, ...sums }) => [{ text: value }, { text: value === "" ? "yes" : "no" }, ...sumCells(sums)]);
      after = page.next;
    }
  }
  return { columns: [tagName(dimension) === undefined ? "end_user" : "value", "is_other", ...SUMS], portions: portions() };
}

/** Every request, newest first, read page by page. */
export function exportRequests(database: Reader, { accountId, range, filter, hasLabels }: UsageSelection): TableFile {
  async function* portions(): AsyncGenerator<Cell[][]> {
    const listing = await listingOf(database, accountId, filter);
    let after: RequestPosition | null | undefined;
    while (after !== null) {
      const page = await listRequests(database, {
        accountId,
        ...momentsOf(range),
        ...listing,
        limit: PORTION,
        after,
      });
      if (hasLabels) {
        const labelled = await readLabelsOf(database, accountId, page.requests);
        yield labelled.map((request) => [...requestCells(request), ...labelCells(request)]);
      } else yield page.requests.map(requestCells);
      after = page.next;
    }
  }
  return { columns: hasLabels ? [...REQUEST_COLUMNS, "end_user", "tags"] : REQUEST_COLUMNS, portions: portions() };
}

async function readDays(database: Reader, { accountId, range, filter: { key, project, model } }: UsageSelection) {
  const { fromDay, toDay } = range;
  const rows = await usageByModelAndDay(database, { accountId, fromDay, toDay, keyId: key, projectId: project });
  return model === undefined ? rows : rows.filter((row) => row.model === model);
}

function sumCells(sums: UsageSums): Cell[] {
  return [
    { number: String(sums.requests) },
    { number: String(sums.inputTokens) },
    { number: String(sums.cachedInputTokens) },
    { number: String(sums.cacheWriteTokens) },
    { number: String(sums.outputTokens) },
    { number: String(sums.reasoningTokens) },
    { number: String(sums.searches) },
    { number: String(sums.images) },
    { number: String(sums.characters) },
    { number: String(sums.seconds) },
    { number: formatNanoUsd(sums.chargeNanoUsd) },
  ];
}

const REQUEST_COLUMNS = [
  "request_id",
  "attempt",
  "started_at",
  "key_id",
  "model",
  "interface",
  "is_stream",
  "http_status",
  "outcome",
  "is_estimated",
  "input_tokens",
  "cached_input_tokens",
  "cache_write_tokens",
  "output_tokens",
  "reasoning_tokens",
  "searches",
  "images",
  "characters",
  "seconds_of_sound",
  "duration_ms",
  "first_token_ms",
  "input_usd_per_million",
  "cached_input_usd_per_million",
  "cache_write_usd_per_million",
  "output_usd_per_million",
  "search_usd_per_thousand",
  "usd_per_image",
  "character_usd_per_million",
  "usd_per_minute",
  "image_terms",
  "price_version",
  "charge_usd",
  "own_key_provider",
  "is_batch",
];

/** Tags as the header has them: `env=prod, team=search`. */
function labelCells({ labels }: LabelledRequest): Cell[] {
  const tags = tagsIn(labels).map(({ name, value }) => `${name}=${value}`);
  return [{ text: endUserIn(labels) ?? "" }, { text: tags.join(", ") }];
}

function requestCells(request: ListedRequest): Cell[] {
  const { price } = request;
  const { searches, images, characters, seconds } = unitsByKind(request);
  const unitOf = (kind: Interface) => (request.interface === kind ? price.unitPicoUsd : 0n);
  return [
    { text: request.requestId },
    { number: String(request.attempt) },
    { number: request.startedAt.toISOString() },
    { text: request.keyId },
    { text: request.model },
    { text: request.interface },
    { text: request.isStream ? "yes" : "no" },
    { number: String(request.httpStatus) },
    { text: request.outcome },
    { text: request.isEstimated ? "yes" : "no" },
    { number: String(request.inputTokens) },
    { number: String(request.cachedInputTokens) },
    { number: String(request.cacheWriteTokens) },
    { number: String(request.outputTokens) },
    { number: String(request.reasoningTokens) },
    { number: String(searches) },
    { number: String(images) },
    { number: String(characters) },
    { number: String(seconds) },
    { number: String(request.durationMs) },
    { number: request.firstTokenMs === null ? "" : String(request.firstTokenMs) },
    { number: perMillion(price.inputPicoUsd) },
    { number: perMillion(price.cachedInputPicoUsd) },
    { number: perMillion(price.cacheWritePicoUsd) },
    { number: perMillion(price.outputPicoUsd) },
    { number: perThousand(unitOf("rerank")) },
    { number: pricePerImage(unitOf("image_generation")) },
    { number: perMillion(unitOf("speech")) },
    { number: pricePerMinute(unitOf("transcription")) },
    { text: request.unitTerms ?? "" },
    { number: String(request.priceVersion) },
    { number: formatNanoUsd(request.chargeNanoUsd) },
    { text: request.providerKey ?? "" },
    { text: request.isBatch ? "yes" : "no" },
  ];
}
