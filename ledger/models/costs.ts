import * as z from "zod";
import type { Queryable } from "../postgres/database.ts";
import type { Price } from "../money.ts";

const costRow = z.strictObject({
  model: z.string(),
  input: z.bigint().nullable(),
  cachedInput: z.bigint().nullable(),
  cacheWrite: z.bigint().nullable(),
  output: z.bigint().nullable(),
  unit: z.bigint(),
});
type CostRow = z.infer<typeof costRow>;

/** The operator's own cost of one model; null: unknown. */
export interface ModelCost {
  model: string;
  cost: Price | null;
}

/** Appends differences from the last statement, in the transaction that publishes the models. */
export async function recordCosts(transaction: Queryable, costs: readonly ModelCost[]): Promise<void> {
  const rows = await transaction.query({
    text: `SELECT DISTINCT ON (model) model, input_pico_usd AS input, cached_input_pico_usd AS "cachedInput",
             cache_write_pico_usd AS "cacheWrite", output_pico_usd AS output, unit_pico_usd AS unit
           FROM model_cost WHERE model = ANY($1) ORDER BY model, since DESC`,
    values: [costs.map(({ model }) => model)],
    row: costRow,
  });
  const known = new Map(rows.map((row) => [row.model, row]));
  for (const stated of costs) {
    const row = toRow(stated);
    const before = known.get(stated.model) ?? toRow({ model: stated.model, cost: null });
    if (isSame(before, row)) continue;
    // A transaction cannot contain two statements of one model, so its moment is unique.
    await transaction.execute(
      `INSERT INTO model_cost (model, input_pico_usd, cached_input_pico_usd, cache_write_pico_usd, output_pico_usd, unit_pico_usd)
       VALUES ($1, $2, $3, $4, $5, $6)`,
      [row.model, row.input, row.cachedInput, row.cacheWrite, row.output, row.unit],
    );
  }
}

function toRow({ model, cost }: ModelCost): CostRow {
  return {
    model,
    input: cost?.inputPicoUsd ?? null,
    cachedInput: cost?.cachedInputPicoUsd ?? null,
    cacheWrite: cost?.cacheWritePicoUsd ?? null,
    output: cost?.outputPicoUsd ?? null,
    unit: cost?.unitPicoUsd ?? 0n,
  };
}

function isSame(a: CostRow, b: CostRow): boolean {
  return (
    a.input === b.input &&
    a.cachedInput === b.cachedInput &&
    a.cacheWrite === b.cacheWrite &&
    a.output === b.output &&
    a.unit === b.unit
  );
}
