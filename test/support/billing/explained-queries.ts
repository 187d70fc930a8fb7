import * as z from "zod";
import type { Database } from "../../../ledger/postgres/database.ts";

export interface ExplainedQueries {
  /** Runs each query under EXPLAIN ANALYZE, and answers with no rows. */
  database: Database;
  /** Lines of the plans so far. */
  plans: readonly string[];
  /** Rows that these plans read or compared, and did not need. */
  rowsRemoved(): number;
}

const plan = z.strictObject({ "QUERY PLAN": z.string() });

/** With generic plans: named statements get them after a few calls, and nobody chooses them for the rows at hand. */
export function explainQueries(database: Database): ExplainedQueries {
  const plans: string[] = [];
  return {
    plans,
    database: {
      ...database,
      async query<Row>({
        text,
        values = [],
      }: {
        text: string;
        values?: readonly unknown[];
        row: z.ZodType<Row>;
      }): Promise<Row[]> {
        const lines = await database.transaction(async (transaction) => {
          await transaction.execute("SET LOCAL plan_cache_mode = force_generic_plan");
          return transaction.query({ text: `EXPLAIN (ANALYZE) ${text}`, values, row: plan });
        });
        plans.push(...lines.map((line) => line["QUERY PLAN"]));
        return [];
      },
    },
    rowsRemoved: () =>
      plans
        .flatMap((line) => /Rows Removed by .*Filter: (\d+)/.exec(line)?.slice(1) ?? [])
        .reduce((sum, rows) => sum + Number(rows), 0),
  };
}
