import * as z from "zod";
import { readDays } from "../../../contract/days.ts";
import { readDimension } from "../../../contract/label-query.ts";
import { LABEL_BOUNDS } from "../../../contract/labels.ts";
import { decodeLabelCursor, encodeLabelCursor } from "../../../ledger/usage/label-cursor.ts";
import { listTagNames, usageByLabel, usageWithLabel } from "../../../ledger/usage/label-reports.ts";
import { usageByModelAndDay } from "../../../ledger/usage/reports.ts";
import { addUsage, NO_USAGE_SUMS, subtractUsage } from "../../../ledger/usage/sums.ts";
import type { AppDeps } from "../../app-deps.ts";
import { callerOf } from "../caller.ts";
import type { Api } from "../provider.ts";
import { failures } from "../schemas/error.ts";
import { filterQuery, rangeQuery, showSums, sumsShape } from "../schemas/usage.ts";
import { nextCursor, pageQuery } from "../schemas/values.ts";

const tags = ["Usage"];
/** Values are no longer than base64url of 256 characters of four bytes, and a charge. */
const cursor = z
  .string()
  .regex(/^[\w-]{1,1500}$/, "This is not a cursor of this API.")
  .optional()
  .meta({ description: "`next_cursor` of the previous page" });

/** Usage by tag and by end user (S47). */
export function usageGroupsApi(api: Api, { database, reports = database }: AppDeps): void {
  api.get(
    "/usage/tags",
    {
      schema: {
        tags,
        summary: "List the names of tags",
        description: "At most 100, of requests whose tags are kept.",
        response: { 200: z.object({ data: z.array(z.object({ name: z.string() })) }), ...failures },
      },
    },
    async (request) => {
      const names = await listTagNames(reports, callerOf(request).accountId);
      return { data: names.map((name) => ({ name })) };
    },
  );

  api.get(
    "/usage/groups",
    {
      schema: {
        tags,
        summary: "Get usage by the values of a tag, or by end user, highest charge first",
        description: `For each UTC day, ${LABEL_BOUNDS.valuesADay.toLocaleString("en-US")} values of all tags together and as many end users are listed separately. Requests with any others are combined in one group with \`is_other\`.`,
        querystring: z.strictObject({
          group_by: z.string().meta({ description: "`end_user`, or `tag:` and a tag's name", examples: ["tag:team"] }),
          ...rangeQuery,
          ...filterQuery,
          ...pageQuery,
          cursor,
        }),
        response: {
          200: z.object({
            currency: z.literal("USD"),
            from: z.string(),
            to: z.string(),
            data: z.array(
              z.object({
                value: z.string().nullable().meta({ description: "null for `is_other`" }),
                is_other: z.boolean(),
                ...sumsShape,
              }),
            ),
            without: z.object(sumsShape).meta({ description: "Requests without this tag, or without an end user" }),
            next_cursor: nextCursor,
          }),
          ...failures,
        },
      },
    },
    async (request) => {
      const { accountId } = callerOf(request);
      const { group_by: groupBy, key: keyId, project: projectId, model, limit, cursor: from, ...range } = request.query;
      const scope = { accountId, keyId, projectId, model, ...readDays(range, Date.now()) };
      const dimension = readDimension(groupBy);
      const after = from === undefined ? undefined : decodeLabelCursor(from);
      const [{ values, next }, labelled = NO_USAGE_SUMS, rows] = await Promise.all([
        usageByLabel(reports, { ...scope, dimension, limit, after }),
        usageWithLabel(reports, { ...scope, dimension }),
        usageByModelAndDay(reports, scope),
      ]);
      const all = rows.filter((row) => model === undefined || row.model === model).reduce(addUsage, NO_USAGE_SUMS);
      return {
        currency: "USD" as const,
        from: scope.fromDay,
        to: scope.toDay,
        data: values.map(({ value, ...used }) => ({
          value: value === "" ? null : value,
          is_other: value === "",
          ...showSums(used),
        })),
        without: showSums(subtractUsage(all, labelled)),
        next_cursor: next === null ? null : encodeLabelCursor(next),
      };
    },
  );
}
