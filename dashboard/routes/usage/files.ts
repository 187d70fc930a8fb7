import type { FastifyInstance, FastifyRequest } from "fastify";
import { GatewayError } from "../../../contract/errors.ts";
import type { Reader } from "../../../ledger/postgres/database.ts";
import type { AppDeps } from "../../app-deps.ts";
import { streamCsv } from "../../usage/csv.ts";
import { streamJson } from "../../usage/json-file.ts";
import type { TableFile } from "../../usage/table-file.ts";
import { memberOf } from "../../session/guard.ts";
import {
  exportDays,
  exportKeys,
  exportLabels,
  exportMembers,
  exportModels,
  exportProjects,
  exportRequests,
  type UsageSelection,
} from "../../usage/export.ts";
import { readStrictFilter } from "../../usage/filter.ts";
import { readRange } from "../../usage/range.ts";
import { END_USER } from "../../../contract/labels.ts";
import { readDimension } from "../../../contract/label-query.ts";
import { readAccountLabels } from "../../../ledger/labels/account-labels.ts";
import { readQuery } from "../../http/form.ts";
import { dayOf } from "../../../contract/days.ts";

type FileRequest = FastifyRequest<{ Params: { view: string } }>;
type Export = (database: Reader, selection: UsageSelection) => TableFile;
const EXPORTS = new Map<string, Export>([
  ["days", exportDays],
  ["models", exportModels],
  ["keys", exportKeys],
  ["projects", exportProjects],
  ["members", exportMembers],
  ["labels", exportLabels],
  ["requests", exportRequests],
]);
const FORMATS = {
  csv: { type: "text/csv; charset=utf-8", write: streamCsv },
  json: { type: "application/json; charset=utf-8", write: streamJson },
} as const;

/** Each view of usage as a file, with all of its rows (S27). */
export function usageFileRoutes(app: FastifyInstance, { database, reports = database }: AppDeps): void {
  const config = { isDownload: true };
  for (const [format, { type, write }] of Object.entries(FORMATS)) {
    app.get(`/dashboard/usage/${format}/:view`, { config }, async (request: FileRequest, reply) => {
      const { accountId } = memberOf(request).membership;
      const { view } = request.params;
      const make = EXPORTS.get(view);
      if (make === undefined) throw new GatewayError("not_found", "There is no such file.");
      const range = readRange(request.query, dayOf(Date.now()));
      // An invalid filter must not produce a file of everything.
      const filter = readStrictFilter(request.query);
      if (filter === undefined) throw new GatewayError("invalid_request", "This filter could not be read.");
      const { hasSome: hasLabels } = await readAccountLabels(database, accountId);
      const dimension = view === "labels" ? readDimension(readQuery(request, "group_by")) : END_USER;
      const name = `usage-${view}-${range.fromDay}-${range.toDay}.${format}`;
      return reply
        .type(type)
        .header("content-disposition", `attachment; filename="${name}"`)
        .send(write(make(reports, { accountId, range, filter, hasLabels, dimension })));
    });
  }
}
