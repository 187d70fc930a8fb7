import type { FastifyInstance } from "fastify";
import * as z from "zod";
import { dayOf } from "../../../contract/days.ts";
import type { AppDeps } from "../../app-deps.ts";
import { sendPage } from "../../http/reply.ts";
import { adminOf } from "../../session/guard.ts";
import { readRange } from "../../usage/range.ts";
import { createServiceFigures } from "../../usage/service-figures.ts";
import { adminFiguresPage } from "../../views/admin/figures.ts";

const rangeSchema = z.object({ range: z.enum(["today", "7d", "30d", "month"]).catch("30d") });

/** Figures of the whole service. */
export function adminFigureRoutes(app: FastifyInstance, { database, reports = database }: AppDeps): void {
  const read = createServiceFigures(reports);

  app.get("/dashboard/admin/figures", async (request, reply) => {
    const visitor = adminOf(request);
    const { range: name } = rangeSchema.parse(request.query ?? {});
    const range = readRange({ range: name }, dayOf(Date.now()));
    return sendPage(reply, adminFiguresPage({ visitor, range, figures: await read(range) }));
  });
}
