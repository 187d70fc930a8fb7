import * as z from "zod";
import { IMPACTS, INCIDENT_STATUSES, listIncidents } from "../../../ledger/incidents/incidents.ts";
import { cutPage } from "../../../ledger/postgres/page.ts";
import { msOfId } from "../../../ledger/usage/request-id-time.ts";
import type { AppDeps } from "../../app-deps.ts";
import { callerOf } from "../caller.ts";
import { encodeCursor, readIdCursor } from "../cursor.ts";
import type { Api } from "../provider.ts";
import { failures } from "../schemas/error.ts";
import { orOther } from "../schemas/or-other.ts";
import { moment, nextCursor, pageQuery, showMoment, showMomentOrNull } from "../schemas/values.ts";

const incident = z
  .object({
    id: z.uuid(),
    title: z.string(),
    impact: orOther(IMPACTS),
    started_at: moment.meta({ description: "When it was published" }),
    resolved_at: moment.nullable().meta({ description: "null while it is open" }),
    updates: z
      .array(z.object({ id: z.uuid(), status: orOther(INCIDENT_STATUSES), message: z.string(), created_at: moment }))
      .meta({ description: "The newest first, at most 50" }),
  })
  .meta({ id: "Incident" });

/** The incidents of the status page: the same for every account. */
export function incidentApi(api: Api, { database }: AppDeps): void {
  api.get(
    "/incidents",
    {
      schema: {
        tags: ["Status"],
        summary: "List incidents and maintenance, newest first",
        querystring: z.strictObject(pageQuery),
        response: { 200: z.object({ data: z.array(incident), next_cursor: nextCursor }), ...failures },
      },
    },
    async (request) => {
      callerOf(request);
      const { limit, cursor } = request.query;
      const beforeId = cursor === undefined ? undefined : readIdCursor(cursor);
      const found = await listIncidents(database, { limit: limit + 1, beforeId });
      const { page, next } = cutPage(found, limit, ({ id }) => id);
      const data = page.map(({ id, title, impact, resolvedAt, updates }) => ({
        id,
        title,
        impact,
        started_at: publishedAt(id),
        resolved_at: showMomentOrNull(resolvedAt),
        updates: updates.map((update) => ({ ...update, created_at: publishedAt(update.id) })),
      }));
      return { data, next_cursor: next === null ? null : encodeCursor(next) };
    },
  );
}

function publishedAt(id: string): string {
  return showMoment(new Date(msOfId(id)));
}
