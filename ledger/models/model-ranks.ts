import * as z from "zod";
import type { Queryable } from "../postgres/database.ts";

/** Names of all models that were ever published, in order of publication. Prices are never deleted, so ranks do not change. */
export async function listModelRanks(database: Queryable): Promise<string[]> {
  const rows = await database.query({
    text: "SELECT model FROM price_version WHERE version = 1 ORDER BY id",
    row: z.strictObject({ model: z.string() }),
  });
  return rows.map(({ model }) => model);
}
