import type { DaySpan } from "../../contract/days.ts";
import type { Reader } from "../../ledger/postgres/database.ts";
import { readServiceFigures, type ServiceFigures } from "../../ledger/usage/service-figures.ts";

/** They cover all accounts, so a page that is reloaded, or a program that polls, reads them again only after this time. */
const FRESH_MS = 15_000;
const MAX_KEPT = 16;

/** Figures of the whole service, cached for a moment. */
export function createServiceFigures(reports: Reader): (days: DaySpan) => Promise<ServiceFigures> {
  const known = new Map<string, { atMs: number; figures: Promise<ServiceFigures> }>();

  return async ({ fromDay, toDay }) => {
    const name = `${fromDay} ${toDay}`;
    const nowMs = Date.now();
    const last = known.get(name);
    if (last !== undefined && nowMs - last.atMs < FRESH_MS) return last.figures;
    const figures = readServiceFigures(reports, { fromDay, toDay });
    known.delete(name);
    known.set(name, { atMs: nowMs, figures });
    for (const oldest of [...known.keys()].slice(0, -MAX_KEPT)) known.delete(oldest);
    // Failed reads are not cached.
    figures.catch(() => known.delete(name));
    return figures;
  };
}
