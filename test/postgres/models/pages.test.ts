import { v7 as uuidv7 } from "uuid";
import { expect, test } from "vitest";
import { DAY_MS, dayOf, HOUR_MS } from "../../../contract/days.ts";
import { publishModels } from "../../../ledger/models/catalogue.ts";
import { createPartitionsFor } from "../../../ledger/postgres/partitions.ts";
import { settle } from "../../../ledger/settlement/settle.ts";
import type { Settlement } from "../../../ledger/settlement/settlement.ts";
import { addUpModelHours, listModelDays } from "../../../ledger/usage/model-hours.ts";
import { openDashboard } from "../../support/dashboard/dashboard.ts";
import { catalogueModel, PRICE, seedLedger, settlementOf } from "../../support/billing/ledger.ts";
import { usePostgres } from "../../support/billing/postgres.ts";

const postgres = usePostgres();
const DEAR = {
  inputPicoUsd: 7_000_000n,
  cachedInputPicoUsd: 700_000n,
  cacheWritePicoUsd: 8_750_000n,
  outputPicoUsd: 35_000_000n,
  unitPicoUsd: 0n,
};

test("finished hours are added up for each model, missed days one after the other, late requests included", async () => {
  const { database } = await postgres.migrated();
  const customer = await seedLedger(database);
  const nowMs = Math.floor(Date.now() / HOUR_MS) * HOUR_MS + 60_000;
  const at = (ms: number, outcome: Settlement["outcome"]) =>
    settlementOf(customer, { requestId: uuidv7({ msecs: ms }), startedAt: new Date(ms), outcome, model: "modelx-chat" });
  const old = nowMs - 20 * DAY_MS;
  const events = [
    at(old, "complete"),
    at(nowMs - HOUR_MS, "complete"),
    at(nowMs - HOUR_MS, "failed"),
    at(nowMs - HOUR_MS, "truncated"),
    at(nowMs - HOUR_MS, "aborted"),
    at(nowMs, "failed"),
  ];
  await createPartitionsFor(
    database,
    events.map(({ requestId }) => requestId),
  );
  await settle(database, events);
  const days = () => listModelDays(database, { fromDay: dayOf(nowMs - 29 * DAY_MS) });
  await addUpModelHours(database, nowMs);
  expect(await days()).toEqual([]);
  for (let turn = 0; turn < 31; turn++) await addUpModelHours(database, nowMs);
  const oldDay = { model: "modelx-chat", day: dayOf(old), answered: 1, failed: 0 };
  const lastDay = { model: "modelx-chat", day: dayOf(nowMs - HOUR_MS), answered: 3, failed: 2 };
  expect(await days()).toEqual([oldDay, lastDay]);

  await settle(database, [at(nowMs - HOUR_MS, "complete")]);
  await addUpModelHours(database, nowMs);
  await addUpModelHours(database, nowMs);
  expect(await days()).toEqual([oldDay, { ...lastDay, answered: 4 }]);
});

test("a model's page shows every price with its hours, limits, uptime, the legacy badge, and code in three languages", async () => {
  const { database } = await postgres.migrated();
  const now = Math.floor(Date.now() / 1000);
  const name = "vendor/acme:large";
  await publishModels(database, [
    {
      model: catalogueModel(name, {
        interfaces: ["chat", "messages", "responses"],
        aliases: ["acme"],
        displayName: "Acme Large",
        description: "For long documents.",
        capabilities: ["tools", "structured_outputs"],
        deprecation: { sinceSeconds: now - 60, sunsetSeconds: 4_102_444_800 },
      }),
      price: PRICE,
      schedule: [{ fromMs: null, daily: { fromMinute: 22 * 60, untilMinute: 6 * 60 }, price: DEAR }],
    },
  ]);
  await database.execute("INSERT INTO model_hour (model, hour, answered, failed) VALUES ($1, $2, 100000, 1)", [
    name,
    new Date(Date.now() - 2 * HOUR_MS),
  ]);
  const { guest } = await openDashboard(database);
  const list = await guest.get("/dashboard/models");
  expect(list.body).toContain('href="/dashboard/models/vendor/acme%3Alarge"');
  expect(list.body).toMatch(/legacy/);
  for (const words of ["Acme Large", name, "Tools · Structured outputs"]) expect(list.body).toContain(words);
  for (const path of ["vendor/acme%3Alarge", "vendor%2Facme:large", "acme"]) {
    const { statusCode, body } = await guest.get(`/dashboard/models/${path}`);
    expect(statusCode).toBe(200);
    for (const words of [
      "22:00–06:00 UTC",
      "$8.75",
      "$0.30",
      "131,072 tokens",
      "99.99%",
      "legacy",
      "2100-01-01",
      "For long documents.",
      "Tools, Structured outputs",
    ])
      expect(body).toContain(words);
    expect(body).toContain('href="/dashboard/playground?model=vendor%2Facme%3Alarge"');
    expect(body.match(/curl http/g)).toHaveLength(3);
  }
  const python = await guest.get("/dashboard/models/acme?language=python");
  expect(python.body).toContain("from anthropic import Anthropic");
  expect((await guest.get("/dashboard/models/nothing")).statusCode).toBe(404);
});

test("a model for rerank has one price, the length of query and document, and its own code (S46)", async () => {
  const { database } = await postgres.migrated();
  const shape = { contextWindow: 8_192, maxOutputTokens: 0 };
  const model = catalogueModel("acme-rerank", { interfaces: ["rerank"], capabilities: ["rerank"], ...shape });
  await publishModels(database, [{ model, price: { ...PRICE, inputPicoUsd: 50_000n, outputPicoUsd: 0n } }]);
  const { guest } = await openDashboard(database);
  expect((await guest.get("/dashboard/models")).body).toMatch(/acme-rerank[\s\S]*Rerank[\s\S]*\$0\.05/);
  for (const [language, code] of [
    ["curl", "/v1/rerank"],
    ["python", "client.rerank("],
    ["javascript", "client.rerank({"],
  ]) {
    const { body } = await guest.get(`/dashboard/models/acme-rerank?language=${language}`);
    expect(body).toContain(code);
    expect(body).toContain("8,192 tokens, query and one document");
    for (const absent of ["Max output", "Cached input", "/dashboard/playground?model="]) expect(body).not.toContain(absent);
  }
});

test("a model for embeddings has one price, the length of an input, its own code, and no playground (S46)", async () => {
  const { database } = await postgres.migrated();
  const model = catalogueModel("acme-embed", {
    interfaces: ["embeddings"],
    capabilities: ["embeddings"],
    contextWindow: 8_192,
    maxOutputTokens: 0,
  });
  await publishModels(database, [
    { model, price: { ...PRICE, inputPicoUsd: 20_000n, outputPicoUsd: 0n } },
    { model: catalogueModel("acme-chat"), price: PRICE },
  ]);
  const dashboard = await openDashboard(database);
  const list = await dashboard.guest.get("/dashboard/models");
  expect(list.body).toMatch(/acme-embed[\s\S]*\$0\.02[\s\S]*data-label="Output" class="number"><span class="absent">–</);

  const page = await dashboard.guest.get("/dashboard/models/acme-embed?language=python");
  expect(page.body).toContain("8,192 tokens each");
  expect(page.body).toContain("client.embeddings.create(");
  expect(page.body).toContain("$0.02");
  for (const absent of ["Max output", "Cached input", "/dashboard/playground?model="]) expect(page.body).not.toContain(absent);

  const owner = await dashboard.owner("ann@example.com");
  const playground = await owner.get("/dashboard/playground?model=acme-embed");
  expect(playground.body).toContain('value="acme-chat"');
  expect(playground.body).not.toContain("acme-embed");
});
