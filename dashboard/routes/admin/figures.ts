import type { FastifyInstance } from "fastify";
import * as z from "zod";
import { dayOf, type DaySpan } from "../../../contract/days.ts";
import { readServiceFigures, type ServiceFigures } from "../../../ledger/usage/service-figures.ts";
import type { AppDeps } from "../../app-deps.ts";
import { sendPage } from "../../http/reply.ts";
import { adminOf } from "../../session/guard.ts";
import { readRange, type RANGES } from "../../usage/range.ts";
import { adminFiguresPage } from "../../views/admin/figures.ts";

/** They cover all accounts: a page that is reloaded reads them again after this long. */
const FRESH_MS = 15_000;
const rangeSchema = z.object({ range: z.enum(["today", "7d", "30d", "month"]).catch("30d") });

/** Figures of the whole service. */
export function adminFigureRoutes(app: FastifyInstance, { database, reports = database }: AppDeps): void {
  /** By the range's name: no more than there are ranges. */
  const known = new Map<keyof typeof RANGES, { atMs: number; figures: Promise<ServiceFigures> }>();

  async function read(range: keyof typeof RANGES, days: DaySpan): Promise<ServiceFigures> {
    const nowMs = Date.now();
    const last = known.get(range);
    if (last !== undefined && nowMs - last.atMs < FRESH_MS) return last.figures;
    const figures = readServiceFigures(reports, days);
    known.set(range, { atMs: nowMs, figures });
    // What failed is read again at once.
    figures.catch(() => known.delete(range));
    return figures;
  }

  app.get("/dashboard/admin/figures", async (request, reply) => {
    const visitor = adminOf(request);
    const { range: name } = rangeSchema.parse(request.query ?? {});
    const range = readRange({ range: name }, dayOf(Date.now()));
    return sendPage(reply, adminFiguresPage({ visitor, range, figures: await read(name, range) }));
  });
}
