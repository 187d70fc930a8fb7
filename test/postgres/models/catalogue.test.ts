import { expect, test } from "vitest";
import * as z from "zod";
import { publishModels, readAppliedClusters } from "../../../ledger/models/catalogue.ts";
import { readChanges } from "../../support/billing/changes.ts";
import type { Database } from "../../../ledger/postgres/database.ts";
import { catalogueModel, countRows, PRICE } from "../../support/billing/ledger.ts";
import { usePostgres } from "../../support/billing/postgres.ts";

const postgres = usePostgres();
const NOTHING = { added: [], changed: [], withdrawn: [], repriced: [] };
const pro = { model: catalogueModel("modelx-v4-pro"), price: PRICE };
const flash = { model: catalogueModel("modelx-v4-flash"), price: { ...PRICE, outputPicoUsd: 1n } };

test("publishing the same catalogue again changes nothing", async () => {
  const { database } = await postgres.migrated();
  expect(await publishModels(database, [pro, flash])).toEqual({
    ...NOTHING,
    added: ["modelx-v4-flash", "modelx-v4-pro"],
    repriced: ["modelx-v4-flash", "modelx-v4-pro"],
  });
  expect(await publishModels(database, [flash, pro])).toEqual(NOTHING);
  expect(await countRows(database, "price_version")).toBe(2n);
});

test("a price version is appended only when a price changed", async () => {
  const { database } = await postgres.migrated();
  await publishModels(database, [pro]);
  const respecified = { ...pro, model: catalogueModel("modelx-v4-pro", { aliases: ["default"] }) };
  expect(await publishModels(database, [respecified])).toEqual({ ...NOTHING, changed: ["modelx-v4-pro"] });
  expect(await prices(database)).toEqual([{ version: 1, input: 300_000n }]);

  const dearer = { ...respecified, price: { ...PRICE, inputPicoUsd: 400_000n } };
  expect(await publishModels(database, [dearer])).toEqual({
    ...NOTHING,
    changed: ["modelx-v4-pro"],
    repriced: ["modelx-v4-pro"],
  });
  // Back to a price that it had before: again a new version, because each has one time from which it is in force.
  await publishModels(database, [respecified]);
  expect(await prices(database)).toEqual([
    { version: 1, input: 300_000n },
    { version: 2, input: 400_000n },
    { version: 3, input: 300_000n },
  ]);
  const { models } = await readChanges(database);
  expect(models).toEqual([
    {
      model: respecified.model,
      price: { ...PRICE, id: 3n, version: 3, imagePrices: [], schedule: [], batch: null, providerKeyFee: null },
    },
  ]);
});

test("a removed model is withdrawn, and returns with its last price version", async () => {
  const { database } = await postgres.migrated();
  await publishModels(database, [pro, flash]);
  expect(await publishModels(database, [pro])).toEqual({ ...NOTHING, withdrawn: ["modelx-v4-flash"] });
  expect(await publishModels(database, [pro])).toEqual(NOTHING);
  const withdrawn = await readChanges(database);
  expect(withdrawn.models).toContainEqual({ name: "modelx-v4-flash", isWithdrawn: true });

  expect(await publishModels(database, [pro, flash])).toEqual({ ...NOTHING, added: ["modelx-v4-flash"] });
  expect(await countRows(database, "price_version")).toBe(2n);
});

test("the clusters that requests are sent to are known with the fingerprints of their credentials", async () => {
  const { database } = await postgres.migrated();
  const fingerprints = [{ length: 20, hash: "of a word" }];
  const guardrail = { cluster: "hook", path: "/", timeoutMs: 1_000, onFailure: "refuse" } as const;
  const { backends, ...spec } = catalogueModel("modelx-v4-pro", { guardrail });
  const keyed = { ...spec, backends: backends.map((backend) => ({ ...backend, cluster: "keyed", fingerprints })) };
  await publishModels(database, [{ model: keyed, price: PRICE }, flash]);
  await publishModels(database, [{ model: keyed, price: PRICE }]);
  expect(await readAppliedClusters(database)).toEqual(
    new Map([
      ["keyed", fingerprints],
      ["hook", []],
    ]),
  );
});

test("replicas that publish concurrently agree on one price version", async () => {
  const { database } = await postgres.migrated();
  const results = await Promise.all(Array.from({ length: 6 }, () => publishModels(database, [pro, flash])));
  expect(results.flatMap(({ repriced }) => repriced).sort()).toEqual(["modelx-v4-flash", "modelx-v4-pro"]);
  expect(await countRows(database, "price_version")).toBe(2n);
});

test.for(["UPDATE price_version SET input_pico_usd = 0", "DELETE FROM price_version", "TRUNCATE price_version CASCADE"])(
  "price versions are immutable: %s is refused",
  async (statement) => {
    const { database } = await postgres.migrated();
    await publishModels(database, [pro]);
    await expect(database.execute(statement)).rejects.toThrow("is not allowed on");
    expect(await prices(database)).toEqual([{ version: 1, input: 300_000n }]);
  },
);

test.for([
  { what: "a spec", change: `UPDATE model SET spec = spec || '{"ofTheFuture": 1}' WHERE name = 'modelx-v4-flash'` },
  {
    what: "a schedule of prices",
    change: `WITH later AS (
        INSERT INTO price_version (model, version, input_pico_usd, cached_input_pico_usd, cache_write_pico_usd, output_pico_usd, schedule)
        VALUES ('modelx-v4-flash', 2, 1, 1, 1, 1, '[{"ofTheFuture": 1}]') RETURNING id)
      UPDATE model SET price_version_id = (SELECT id FROM later) WHERE name = 'modelx-v4-flash'`,
  },
])("$what that this program cannot read is reported separately and does not hold back others", async ({ change }) => {
  const { database } = await postgres.migrated();
  await publishModels(database, [pro, flash]);
  await database.execute(change);
  const { models, unreadable } = await readChanges(database);
  expect(models).toMatchObject([{ model: { name: "modelx-v4-pro" } }]);
  expect(unreadable).toEqual([
    { kind: "model", id: "modelx-v4-flash", aliases: [], reason: expect.stringContaining("ofTheFuture") },
  ]);
});

async function prices(database: Database) {
  return database.query({
    text: "SELECT version, input_pico_usd AS input FROM price_version WHERE model = 'modelx-v4-pro' ORDER BY version",
    row: z.strictObject({ version: z.int(), input: z.bigint() }),
  });
}

test("a schedule of prices is part of a version: publishing the same changes nothing, another one is a new version", async () => {
  const { database } = await postgres.migrated();
  const peak = { fromMs: null, daily: { fromMinute: 480, untilMinute: 1080 }, price: { ...PRICE, outputPicoUsd: 9n } };
  const scheduled = { model: catalogueModel("modelx-v4-pro"), price: PRICE, schedule: [peak] };
  expect((await publishModels(database, [scheduled])).repriced).toEqual(["modelx-v4-pro"]);
  expect(await publishModels(database, [scheduled])).toEqual(NOTHING);
  const later = { ...peak, fromMs: Date.parse("2027-01-31T00:00:00Z") };
  expect((await publishModels(database, [{ ...scheduled, schedule: [peak, later] }])).repriced).toEqual(["modelx-v4-pro"]);
  const { models } = await readChanges(database);
  expect(models).toMatchObject([{ price: { version: 2, schedule: [peak, later] } }]);
});

test("scheduled prices of units are read back in the order of their rules, and version 0.1.0 can read the schedule", async () => {
  const { database } = await postgres.migrated();
  const imagePrices = [{ size: "1024x1024", quality: null, unitPicoUsd: 7n }];
  const rule = (unitPicoUsd: bigint, more = {}) => ({ fromMs: null, daily: null, price: { ...PRICE, unitPicoUsd, ...more } });
  const schedule = [rule(5n), rule(0n), rule(6n, { imagePrices })];
  const scheduled = { model: catalogueModel("modelx-v4-pro"), price: PRICE, schedule };
  await publishModels(database, [scheduled]);
  expect(await publishModels(database, [scheduled])).toEqual(NOTHING);
  const { models } = await readChanges(database);
  expect(models).toMatchObject([{ price: { schedule } }]);
  expect((await publishModels(database, [{ ...scheduled, schedule: schedule.toReversed() }])).repriced).toHaveLength(1);

  const amount = z.string().regex(/^\d+$/);
  const price = z.strictObject({
    inputPicoUsd: amount,
    cachedInputPicoUsd: amount,
    cacheWritePicoUsd: amount,
    outputPicoUsd: amount,
  });
  const readBy010 = z.array(z.strictObject({ fromMs: z.null(), daily: z.null(), price })).length(3);
  const rows = await database.query({ text: "SELECT schedule FROM price_version", row: z.strictObject({ schedule: readBy010 }) });
  expect(rows).toHaveLength(2);
});
