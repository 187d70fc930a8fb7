import * as z from "zod";
import type { Database, Queryable } from "../../../ledger/postgres/database.ts";
import type { Report } from "./reports.ts";

interface Measured {
  name: string;
  /** On a new connection, which knows no table yet. */
  firstMs: number;
  p50Ms: number;
  p99Ms: number;
  plans: string[];
}

const RUNS = 200;

/** @param connect gives a pool that nobody has used. */
export async function measure(report: Report, connect: () => Database): Promise<Measured> {
  const database = connect();
  try {
    const firstMs = await timeOf(report, database, 0);
    const times: number[] = [];
    for (let run = 1; run <= RUNS; run++) times.push(await timeOf(report, database, run));
    times.sort((a, b) => a - b);
    const plans = await explain(report, database);
    return { name: report.name, firstMs, p50Ms: times[RUNS * 0.5] ?? 0, p99Ms: times[RUNS * 0.99] ?? 0, plans };
  } finally {
    await database.close();
  }
}

async function timeOf(report: Report, database: Queryable, run: number): Promise<number> {
  const startedMs = performance.now();
  await report.read(database, run);
  return performance.now() - startedMs;
}

/** The plans of the statements that a report consists of, with what they really did. */
export async function explain(report: Report, database: Database): Promise<string[]> {
  const statements: { text: string; values: readonly unknown[] }[] = [];
  const recorded: Queryable = {
    execute: database.execute,
    query(query) {
      statements.push({ text: query.text, values: query.values ?? [] });
      return database.query(query);
    },
  };
  await report.read(recorded, 0);
  const plans: string[] = [];
  for (const { text, values } of statements) {
    const lines = await database.query({ text: `EXPLAIN (ANALYZE, COSTS OFF) ${text}`, values, row: planRow });
    plans.push(shorten(lines.map((line) => line["QUERY PLAN"])).join("\n"));
  }
  return plans;
}

const planRow = z.strictObject({ "QUERY PLAN": z.string() });

/** A plan names every partition, also those that nothing was read from. */
function shorten(lines: readonly string[]): string[] {
  let isLeftOut = false;
  return lines.filter((line) => {
    if (line.includes("->")) isLeftOut = line.includes("never executed");
    return !isLeftOut;
  });
}
