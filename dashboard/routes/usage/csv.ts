import type { FastifyInstance, FastifyRequest } from "fastify";
import { GatewayError } from "../../../contract/errors.ts";
import type { AppDeps } from "../../app-deps.ts";
import { streamCsv, type CsvFile } from "../../csv.ts";
import { memberOf } from "../../session/guard.ts";
import { exportDays, exportKeys, exportModels, exportRequests, type UsageSelection } from "../../usage/export.ts";
import { readStrictFilter } from "../../usage/filter.ts";
import { readRange } from "../../usage/range.ts";
import { dayOf } from "../../../contract/days.ts";

type Export = (database: AppDeps["database"], selection: UsageSelection) => CsvFile;
const EXPORTS = new Map<string, Export>([
  ["days", exportDays],
  ["models", exportModels],
  ["keys", exportKeys],
  ["requests", exportRequests],
]);
/** Each view of usage as a file, with all of its rows (S27). */
export function usageCsvRoutes(app: FastifyInstance, { database }: AppDeps): void {
  const config = { isDownload: true };
  app.get("/dashboard/usage/csv/:view", { config }, async (request: FastifyRequest<{ Params: { view: string } }>, reply) => {
    const { accountId } = memberOf(request).membership;
    const { view } = request.params;
    const make = EXPORTS.get(view);
    if (make === undefined) throw new GatewayError("not_found", "There is no such file.");
    const range = readRange(request.query, dayOf(Date.now()));
    // A filter that cannot be read must not become a file of everything.
    const filter = readStrictFilter(request.query);
    if (filter === undefined) throw new GatewayError("invalid_request", "This filter could not be read.");
    const file = make(database, { accountId, range, filter });
    return reply
      .type("text/csv; charset=utf-8")
      .header("content-disposition", `attachment; filename="usage-${view}-${range.fromDay}-${range.toDay}.csv"`)
      .send(streamCsv(file));
  });
}
