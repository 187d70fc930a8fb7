import { isDeepStrictEqual } from "node:util";
import * as z from "zod";
import { catalogueModelSchema, type Backend, type CatalogueModel } from "../../contract/catalogue.ts";
import type { ProviderKeyFee } from "../../contract/provider-key.ts";
import type { Database, Queryable } from "../postgres/database.ts";
import type { Price } from "../money.ts";
import { encodeBatchPrice, type BatchPrice } from "./batch-price.ts";
import { recordCosts } from "./costs.ts";
import {
  encodeImagePrices,
  encodeSchedule,
  isSameSchedule,
  PRICE_VERSION_SELECT,
  priceVersionColumns,
  type PriceRule,
} from "./price-schedule.ts";

/** A price as published. It never changes. */
export interface PriceVersion extends Price {
  id: bigint;
  /** Counts up from 1 for each model. */
  version: number;
  /** Other prices at other times (`priceAt`). */
  schedule: PriceRule[];
  /** Of requests of batches; null: as of any other. */
  batch: BatchPrice | null;
  /** Of requests that are sent with an account's own key; null or absent if the model takes none. */
  providerKeyFee?: ProviderKeyFee | null;
}

export interface PublishedModel {
  model: CatalogueModel;
  price: Price;
  schedule?: readonly PriceRule[];
  /** As of any other request if absent. */
  batch?: BatchPrice | null;
  providerKeyFee?: ProviderKeyFee | null;
  /** The operator's own cost; unknown if absent. */
  cost?: Price | null;
}

/** Names of models, sorted; each is in at most one of `added`, `changed` and `withdrawn`. */
export interface PublishResult {
  added: string[];
  /** Served before, with another spec or price. */
  changed: string[];
  withdrawn: string[];
  /** Has a new price version. */
  repriced: string[];
}

interface Current {
  spec: unknown;
  isWithdrawn: boolean;
  price: PriceVersion;
}

const currentRow = z.strictObject({
  name: z.string(),
  spec: z.unknown(),
  isWithdrawn: z.boolean(),
  ...priceVersionColumns,
});

const idRow = z.strictObject({ id: z.bigint() });

/**
 * Replaces the catalogue with exactly these models, in one transaction. A missing model is withdrawn: its row and prices stay,
 * because usage refers to them. A new price version is appended only if a price differs from the last one.
 */
export async function publishModels(database: Database, models: readonly PublishedModel[]): Promise<PublishResult> {
  return database.transaction(async (transaction) => {
    // One publisher at a time; readers continue.
    await transaction.execute("LOCK TABLE model IN SHARE ROW EXCLUSIVE MODE");
    const current = await readCurrent(transaction);
    const result: PublishResult = { added: [], changed: [], withdrawn: [], repriced: [] };

    for (const { model, price, schedule = [], batch = null, providerKeyFee = null } of models.toSorted((a, b) =>
      a.model.name < b.model.name ? -1 : 1,
    )) {
      const before = current.get(model.name);
      const isRepriced = before === undefined || !isSamePrice(before.price, { ...price, schedule, batch, providerKeyFee });
      // As the column returns it: without members that are undefined.
      const spec: unknown = JSON.parse(JSON.stringify(model));
      if (!isRepriced && !before.isWithdrawn && isDeepStrictEqual(before.spec, spec)) continue;
      const priceVersionId = isRepriced
        ? await appendPrice(transaction, {
            model: model.name,
            version: (before?.price.version ?? 0) + 1,
            price: { ...price, schedule, batch, providerKeyFee },
          })
        : before.price.id;
      await writeModel(transaction, model, priceVersionId);
      if (isRepriced) result.repriced.push(model.name);
      (before === undefined || before.isWithdrawn ? result.added : result.changed).push(model.name);
    }

    await recordCosts(
      transaction,
      models.map(({ model, cost = null }) => ({ model: model.name, cost })),
    );
    const names = new Set(models.map(({ model }) => model.name));
    result.withdrawn = [...current].filter(([name, { isWithdrawn }]) => !isWithdrawn && !names.has(name)).map(([name]) => name);
    if (result.withdrawn.length > 0)
      await transaction.execute("UPDATE model SET withdrawn_at = now(), updated_at = now() WHERE name = ANY($1)", [
        result.withdrawn,
      ]);
    return result;
  });
}

/** Does the catalogue already consist of exactly these models? Prices are not compared: they are no reason to wait. */
export async function isPublished(database: Database, models: readonly PublishedModel[]): Promise<boolean> {
  const current = [...(await readCurrent(database))].filter(([, { isWithdrawn }]) => !isWithdrawn);
  const served = new Map(current.map(([name, { spec }]) => [name, spec]));
  return (
    served.size === models.length &&
    models.every(({ model }) => isDeepStrictEqual(served.get(model.name), JSON.parse(JSON.stringify(model))))
  );
}

const applied = z.looseObject({
  cluster: z.string(),
  fingerprints: catalogueModelSchema.shape.backends.element.shape.fingerprints,
});

/** What is read of a spec, which a newer version may have written. */
const appliedRow = z.strictObject({
  spec: z.looseObject({ backends: z.array(applied), guardrail: applied.optional() }),
});

/** The clusters that the catalogue names, with the fingerprints of their credentials. */
export async function readAppliedClusters(
  database: Queryable,
): Promise<ReadonlyMap<string, NonNullable<Backend["fingerprints"]>>> {
  const rows = await database.query({ text: "SELECT spec FROM model WHERE withdrawn_at IS NULL", row: appliedRow });
  return new Map(
    rows
      .flatMap(({ spec: { backends, guardrail } }) => (guardrail === undefined ? backends : [...backends, guardrail]))
      .map(({ cluster, fingerprints = [] }) => [cluster, fingerprints]),
  );
}

/** Each model's price here is its last version: publishing is the only writer, and points the model at it. */
async function readCurrent(transaction: Queryable): Promise<Map<string, Current>> {
  const rows = await transaction.query({
    text: `SELECT name, spec, withdrawn_at IS NOT NULL AS "isWithdrawn", ${PRICE_VERSION_SELECT}
           FROM model JOIN price_version ON price_version.id = price_version_id ORDER BY name COLLATE "C"`,
    row: currentRow,
  });
  return new Map(rows.map(({ name, spec, isWithdrawn, ...price }) => [name, { spec, isWithdrawn, price }]));
}

type ScheduledPrice = Price & {
  schedule: readonly PriceRule[];
  batch: BatchPrice | null;
  providerKeyFee?: ProviderKeyFee | null;
};

function isSamePrice(a: ScheduledPrice, b: ScheduledPrice): boolean {
  return (
    a.inputPicoUsd === b.inputPicoUsd &&
    a.cachedInputPicoUsd === b.cachedInputPicoUsd &&
    a.cacheWritePicoUsd === b.cacheWritePicoUsd &&
    a.outputPicoUsd === b.outputPicoUsd &&
    a.unitPicoUsd === b.unitPicoUsd &&
    encodeImagePrices(a) === encodeImagePrices(b) &&
    isSameSchedule(a.schedule, b.schedule) &&
    encodeBatchPrice(a.batch) === encodeBatchPrice(b.batch) &&
    a.providerKeyFee?.requestPicoUsd === b.providerKeyFee?.requestPicoUsd &&
    a.providerKeyFee?.millionths === b.providerKeyFee?.millionths
  );
}

async function appendPrice(
  transaction: Queryable,
  { model, version, price }: { model: string; version: number; price: ScheduledPrice },
): Promise<bigint> {
  const schedule = encodeSchedule(price.schedule);
  const [row] = await transaction.query({
    text: `INSERT INTO price_version (model, version, input_pico_usd, cached_input_pico_usd, cache_write_pico_usd, output_pico_usd,
             unit_pico_usd, image_prices, schedule, scheduled_unit_prices, batch, provider_key_request_pico_usd, provider_key_millionths)
           VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) RETURNING id`,
    values: [
      model,
      version,
      price.inputPicoUsd,
      price.cachedInputPicoUsd,
      price.cacheWritePicoUsd,
      price.outputPicoUsd,
      price.unitPicoUsd,
      encodeImagePrices(price),
      schedule.rules,
      schedule.unitPrices,
      encodeBatchPrice(price.batch),
      price.providerKeyFee?.requestPicoUsd ?? null,
      price.providerKeyFee?.millionths ?? null,
    ],
    row: idRow,
  });
  if (row === undefined) throw new Error("INSERT … RETURNING returned no row.");
  return row.id;
}

async function writeModel(transaction: Queryable, model: CatalogueModel, priceVersionId: bigint): Promise<void> {
  await transaction.execute(
    `INSERT INTO model (name, spec, price_version_id) VALUES ($1, $2, $3)
     ON CONFLICT (name) DO UPDATE
     SET spec = excluded.spec, price_version_id = excluded.price_version_id, withdrawn_at = NULL, updated_at = now()`,
    [model.name, JSON.stringify(model), priceVersionId],
  );
}
