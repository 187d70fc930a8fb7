import type { FastifyInstance, FastifyRequest } from "fastify";
import * as z from "zod";
import { GatewayError } from "../../contract/errors.ts";
import type { AppDeps } from "../app.ts";
import { streamCsv, type CsvFile } from "../csv.ts";
import { memberOf } from "../session/guard.ts";
import { exportDays, exportKeys, exportModels, exportRequests, type UsageSelection } from "../usage/export.ts";
import { readRange } from "../usage/range.ts";

type Export = (database: AppDeps["database"], selection: UsageSelection) => CsvFile;
const EXPORTS = new Map<string, Export>([
  ["days", exportDays],
  ["models", exportModels],
  ["keys", exportKeys],
  ["requests", exportRequests],
]);
const filterSchema = z.object({
  key: z
    .string()
    .regex(/^[0-9A-Za-z]{12}$/)
    .optional(),
  // Postgres takes no NUL in a text.
  model: z
    .string()
    .regex(/^[^\0]{1,128}$/)
    .optional(),
});

/** Each view of usage as a file, with all of its rows (S27). */
export function usageCsvRoutes(app: FastifyInstance, { database }: AppDeps): void {
  app.get("/dashboard/usage/csv/:view", async (request: FastifyRequest<{ Params: { view: string } }>, reply) => {
    const { accountId } = memberOf(request).membership;
    const { view } = request.params;
    const make = EXPORTS.get(view);
    if (make === undefined) throw new GatewayError("not_found", "There is no such file.");
    const range = readRange(request.query, new Date().toISOString().slice(0, 10));
    // A filter that cannot be read must not become a file of everything.
    const filter = filterSchema.safeParse(request.query ?? {});
    if (!filter.success) throw new GatewayError("invalid_request", "This filter could not be read.");
    const { key, model } = filter.data;
    const file = make(database, { accountId, range, keyId: key, model });
    return reply
      .type("text/csv; charset=utf-8")
      .header("content-disposition", `attachment; filename="usage-${view}-${range.fromDay}-${range.toDay}.csv"`)
      .send(streamCsv(file));
  });
}
