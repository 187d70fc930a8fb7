import * as z from "zod";
import { catalogueModelSchema, providersOf, type CatalogueModel } from "../../contract/catalogue.ts";
import type { ProviderKeyFee } from "../../contract/provider-key.ts";
import type { Queryable } from "../postgres/database.ts";
import type { Price } from "../money.ts";
import { batchPriceColumn, batchPriceOf } from "./batch-price.ts";
import {
  imagePricesColumn,
  priceAt,
  providerKeyFeeColumn,
  PROVIDER_KEY_FEE,
  SCHEDULE,
  scheduleColumn,
  type PriceRule,
} from "./price-schedule.ts";

/** A served model, with its current price. */
export interface ListedModel {
  model: CatalogueModel;
  price: Price;
  /** Its cost if no rule of the schedule applies. */
  standardPrice: Price;
  schedule: PriceRule[];
  /** What a request of a batch costs now; null if the Model accepts no batches. */
  batchPrice: Price | null;
  /** Of requests with an account's own key; null if the Model takes none. */
  providerKeyFee: ProviderKeyFee | null;
}

const modelRow = z.strictObject({
  spec: z.unknown(),
  inputPicoUsd: z.bigint(),
  cachedInputPicoUsd: z.bigint(),
  cacheWritePicoUsd: z.bigint(),
  outputPicoUsd: z.bigint(),
  unitPicoUsd: z.bigint(),
  imagePrices: imagePricesColumn,
  schedule: scheduleColumn,
  batch: batchPriceColumn,
  providerKeyFee: providerKeyFeeColumn,
});

/** By name. A model written by a newer program and unreadable for this one is left out. */
export async function listModels(database: Queryable, nowMs: number): Promise<ListedModel[]> {
  const rows = await database.query({
    text: `SELECT spec, input_pico_usd AS "inputPicoUsd", cached_input_pico_usd AS "cachedInputPicoUsd",
             cache_write_pico_usd AS "cacheWritePicoUsd", output_pico_usd AS "outputPicoUsd", unit_pico_usd AS "unitPicoUsd",
             image_prices AS "imagePrices", ${SCHEDULE}, batch, ${PROVIDER_KEY_FEE}
           FROM model JOIN price_version ON id = price_version_id WHERE withdrawn_at IS NULL ORDER BY name`,
    row: modelRow,
  });
  return rows.flatMap(({ spec, schedule, batch, providerKeyFee: fee, ...standardPrice }) => {
    const model = catalogueModelSchema.safeParse(spec).data;
    if (model === undefined) return [];
    const price = priceAt({ price: standardPrice, schedule }, nowMs);
    const batchPrice = model.takesBatches === true ? batchPriceOf(price, batch) : null;
    const providerKeyFee = providersOf(model).length > 0 ? fee : null;
    return [{ model, price, standardPrice, schedule, batchPrice, providerKeyFee }];
  });
}
