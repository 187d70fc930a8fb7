import * as z from "zod";
import { readLabel } from "../../../contract/label-query.ts";
import { labelUsageByModelAndDay } from "../../../ledger/usage/label-reports.ts";
import { usageByMember } from "../../../ledger/usage/member-series.ts";
import { usageByProject } from "../../../ledger/usage/project-series.ts";
import { usageByKey, usageByModelAndDay, usageTotals } from "../../../ledger/usage/reports.ts";
import { readLabelsOf } from "../../../ledger/usage/request-labels.ts";
import { listRequests } from "../../../ledger/usage/request-list.ts";
import { OUTCOMES } from "../../../ledger/settlement/settlement.ts";
import type { AppDeps } from "../../app-deps.ts";
import { listingOf } from "../../usage/filter.ts";
import { callerOf } from "../caller.ts";
import { encodeKeyUsageCursor, encodeRequestCursor, readKeyUsageCursor, readRequestCursor } from "../cursor.ts";
import type { Api } from "../provider.ts";
import { failures } from "../schemas/error.ts";
import { filterQuery, labelQuery, listedRequest, rangeQuery, showRequest, showSums, sumsShape } from "../schemas/usage.ts";
import { keyId, nextCursor, pageQuery } from "../schemas/values.ts";
import { dayOf, momentsOf, readDays } from "../../../contract/days.ts";

const MAX_MEMBERS = 200;
const MAX_PROJECTS = 200;

const tags = ["Usage"];
const currency = z.literal("USD");
const daysShape = { currency, from: z.string(), to: z.string() };
const outcome = z.enum(OUTCOMES);
const sums = z.object(sumsShape);

/** Everything is scoped to the caller's account: a key of another account has no usage here. */
export function usageApi(api: Api, { database, reports = database }: AppDeps): void {
  api.get(
    "/usage",
    {
      schema: {
        tags,
        summary: "Get usage by day and model",
        querystring: z.strictObject({ ...rangeQuery, project: filterQuery.project, ...labelQuery }),
        response: {
          200: z.object({ ...daysShape, data: z.array(z.object({ day: z.string(), model: z.string(), ...sumsShape })) }),
          ...failures,
        },
      },
    },
    async (request) => {
      const { accountId } = callerOf(request);
      const { project: projectId, tag, end_user: endUser } = request.query;
      const { fromDay, toDay } = readDays(request.query, Date.now());
      const label = readLabel({ tag, endUser });
      const scope = { accountId, projectId, fromDay, toDay };
      const rows =
        label === undefined
          ? await usageByModelAndDay(reports, scope)
          : await labelUsageByModelAndDay(reports, { ...scope, ...label });
      const data = rows.map(({ day, model, ...used }) => ({ day, model, ...showSums(used) }));
      return { currency: "USD" as const, from: fromDay, to: toDay, data };
    },
  );

  api.get(
    "/usage/keys",
    {
      schema: {
        tags,
        summary: "Get usage by key, highest charge first",
        querystring: z.strictObject({ ...rangeQuery, project: filterQuery.project, ...pageQuery }),
        response: {
          200: z.object({
            ...daysShape,
            data: z.array(z.object({ key_id: keyId, name: z.string(), is_deleted: z.boolean(), ...sumsShape })),
            next_cursor: nextCursor,
          }),
          ...failures,
        },
      },
    },
    async (request) => {
      const { accountId } = callerOf(request);
      const { project: projectId, limit, cursor, ...range } = request.query;
      const { fromDay, toDay } = readDays(range, Date.now());
      const after = cursor === undefined ? undefined : readKeyUsageCursor(cursor);
      const { keys, next } = await usageByKey(reports, { accountId, projectId, fromDay, toDay, limit, after });
      const data = keys.map(({ keyId, name, isRevoked, ...used }) => ({
        key_id: keyId,
        name,
        is_deleted: isRevoked,
        ...showSums(used),
      }));
      const nextCursor = next === null ? null : encodeKeyUsageCursor(next);
      return { currency: "USD" as const, from: fromDay, to: toDay, data, next_cursor: nextCursor };
    },
  );

  api.get(
    "/usage/members",
    {
      schema: {
        tags,
        summary: "Get usage by the member who created the keys, highest charge first",
        description: `At most ${MAX_MEMBERS} members.`,
        querystring: z.strictObject(rangeQuery),
        response: {
          200: z.object({
            ...daysShape,
            data: z.array(
              z.object({
                member_id: z.uuid().nullable().meta({ description: "null if no member created these keys" }),
                ...sumsShape,
              }),
            ),
          }),
          ...failures,
        },
      },
    },
    async (request) => {
      const { accountId } = callerOf(request);
      const { fromDay, toDay } = readDays(request.query, Date.now());
      const rows = await usageByMember(reports, { accountId, fromDay, toDay, step: "range", most: MAX_MEMBERS });
      const data = rows.map(({ personId, ...used }) => ({ member_id: personId === "" ? null : personId, ...showSums(used) }));
      return { currency: "USD" as const, from: fromDay, to: toDay, data };
    },
  );

  api.get(
    "/usage/projects",
    {
      schema: {
        tags,
        summary: "Get usage by project, highest charge first",
        description: `Of the keys that are in each project now. At most ${MAX_PROJECTS} projects.`,
        querystring: z.strictObject(rangeQuery),
        response: {
          200: z.object({
            ...daysShape,
            data: z.array(
              z.object({
                project_id: z.uuid().nullable().meta({ description: "null for keys in no project" }),
                name: z.string().nullable(),
                is_deleted: z.boolean(),
                ...sumsShape,
              }),
            ),
          }),
          ...failures,
        },
      },
    },
    async (request) => {
      const { accountId } = callerOf(request);
      const { fromDay, toDay } = readDays(request.query, Date.now());
      const rows = await usageByProject(reports, { accountId, fromDay, toDay, step: "range", most: MAX_PROJECTS });
      const data = rows.map(({ projectId, name, isDeleted, ...used }) => ({
        project_id: projectId === "" ? null : projectId,
        name: projectId === "" ? null : name,
        is_deleted: isDeleted,
        ...showSums(used),
      }));
      return { currency: "USD" as const, from: fromDay, to: toDay, data };
    },
  );

  api.get(
    "/usage/totals",
    {
      schema: {
        tags,
        summary: "Get usage of today, the last 7 and 30 days, and this month",
        response: {
          200: z.object({ currency, today: sums, last_7_days: sums, last_30_days: sums, this_month: sums }),
          ...failures,
        },
      },
    },
    async (request) => {
      const { accountId } = callerOf(request);
      const totals = await usageTotals(database, { accountId, today: dayOf(Date.now()) });
      return {
        currency: "USD" as const,
        today: showSums(totals.today),
        last_7_days: showSums(totals.last7Days),
        last_30_days: showSums(totals.last30Days),
        this_month: showSums(totals.thisMonth),
      };
    },
  );

  api.get(
    "/usage/requests",
    {
      schema: {
        tags,
        summary: "List requests, newest first",
        querystring: z.strictObject({
          ...rangeQuery,
          ...filterQuery,
          ...labelQuery,
          member: z.uuid("Must be the ID of a member.").optional().meta({ description: "Who created the key" }),
          outcome: outcome.optional(),
          ...pageQuery,
        }),
        response: { 200: z.object({ data: z.array(listedRequest), next_cursor: nextCursor }), ...failures },
      },
    },
    async (request) => {
      const { accountId } = callerOf(request);
      const { project, key, member, model, outcome, tag, end_user: endUser, limit, cursor, ...range } = request.query;
      const page = await listRequests(reports, {
        accountId,
        ...momentsOf(readDays(range, Date.now())),
        limit,
        ...(await listingOf(database, accountId, { project, key, member, model, outcome: undefined, tag, endUser })),
        ...(outcome === undefined ? {} : { outcome }),
        ...(cursor === undefined ? {} : { after: readRequestCursor(cursor) }),
      });
      return {
        data: (await readLabelsOf(reports, accountId, page.requests)).map(showRequest),
        next_cursor: page.next === null ? null : encodeRequestCursor(page.next),
      };
    },
  );
}
