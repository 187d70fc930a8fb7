import * as z from "zod";
import { catalogueModelSchema, type CatalogueModel } from "../../contract/catalogue.ts";
import type { PriceVersion } from "./catalogue.ts";
import type { Queryable } from "../postgres/database.ts";
import { PRICE_VERSION_SELECT, priceVersionColumns } from "./price-schedule.ts";

/** A model as operators of the service see it: including withdrawn ones, with each price that it ever had. */
export interface ModelHistory {
  name: string;
  /** null: written by a newer program, and unreadable for this one. */
  model: CatalogueModel | null;
  withdrawnAt: Date | null;
  updatedAt: Date;
  /** Newest first; the first one is in force. */
  versions: (PriceVersion & { effectiveFrom: Date })[];
}

const modelRow = z.strictObject({ name: z.string(), spec: z.unknown(), withdrawnAt: z.date().nullable(), updatedAt: z.date() });
const versionRow = z.strictObject({
  model: z.string(),
  ...priceVersionColumns,
  effectiveFrom: z.date(),
});

/** All models by name; served ones come first. */
export async function listModelHistory(database: Queryable): Promise<ModelHistory[]> {
  const [models, versions] = await Promise.all([
    database.query({
      text: `SELECT name, spec, withdrawn_at AS "withdrawnAt", updated_at AS "updatedAt" FROM model
             ORDER BY withdrawn_at IS NOT NULL, name`,
      row: modelRow,
    }),
    database.query({
      text: `SELECT model, ${PRICE_VERSION_SELECT}, effective_from AS "effectiveFrom"
             FROM price_version ORDER BY model, version DESC`,
      row: versionRow,
    }),
  ]);
  const byModel = Map.groupBy(versions, ({ model }) => model);
  return models.map(({ spec, ...row }) => ({
    ...row,
    model: catalogueModelSchema.safeParse(spec).data ?? null,
    versions: (byModel.get(row.name) ?? []).map(({ model: _model, ...version }) => version),
  }));
}
