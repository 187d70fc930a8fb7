import { expect, test } from "vitest";
import { dayOf } from "../../../contract/days.ts";
import { publishModels } from "../../../ledger/models/catalogue.ts";
import { listModels } from "../../../ledger/models/model-list.ts";
import { readStatement } from "../../../ledger/billing/statement.ts";
import { monthOf } from "../../../ledger/billing/month.ts";
import { settle } from "../../../ledger/settlement/settle.ts";
import { checkLedger } from "../../../ledger/upkeep/check.ts";
import { usageByHour, usageByModelAndDay } from "../../../ledger/usage/reports.ts";
import { readServiceFigures } from "../../../ledger/usage/service-figures.ts";
import type { Price } from "../../../ledger/money.ts";
import { openDashboard } from "../../support/dashboard/dashboard.ts";
import { catalogueModel, createCustomer, PRICE, settlementOf, type Customer } from "../../support/billing/ledger.ts";
import { usePostgres } from "../../support/billing/postgres.ts";

/** Searches of rerank from the price to the books, the pages and the files (S27, S28, S46). */
const postgres = usePostgres();

const BY_SEARCH: Price = {
  inputPicoUsd: 0n,
  cachedInputPicoUsd: 0n,
  cacheWritePicoUsd: 0n,
  outputPicoUsd: 0n,
  unitPicoUsd: 2_000_000_000n,
};
const AT_NIGHT = {
  fromMs: null,
  daily: { fromMinute: 1320, untilMinute: 360 },
  price: { ...BY_SEARCH, unitPicoUsd: 1_500_000_000n },
};
const COST: Price = { ...BY_SEARCH, unitPicoUsd: 500_000_000n };
const RERANK = catalogueModel("searcher", { interfaces: ["rerank"], capabilities: ["rerank"], maxOutputTokens: 0 });

async function open() {
  const { database } = await postgres.migrated();
  const models = [
    { model: catalogueModel("modelx-v4-pro"), price: PRICE },
    { model: RERANK, price: BY_SEARCH, schedule: [], cost: COST },
  ];
  await publishModels(database, models);
  const customer = await createCustomer(database, "acme");
  return { database, customer, publish: () => publishModels(database, models) };
}

function ranking(customer: Customer, units: number) {
  return settlementOf(customer, {
    model: RERANK.name,
    interface: "rerank",
    priceVersionId: 2n,
    usage: { inputTokens: 40, cachedInputTokens: 0, cacheWriteTokens: 0, outputTokens: 0, reasoningTokens: 0, units },
    chargeNanoUsd: BigInt(units) * 2_000_000n,
  });
}

test("a price of searches is published once, with its schedule and cost", async () => {
  const { database, publish } = await open();
  expect(await publish()).toMatchObject({ repriced: [] });
  const scheduled = [{ model: RERANK, price: BY_SEARCH, schedule: [AT_NIGHT], cost: COST }];
  expect(await publishModels(database, scheduled)).toMatchObject({ repriced: [RERANK.name] });
  expect(await publishModels(database, scheduled)).toMatchObject({ repriced: [] });
  const [listed] = await listModels(database, Date.parse("2026-11-23T12:00:00Z"));
  expect(listed).toMatchObject({ price: BY_SEARCH, schedule: [AT_NIGHT] });
});

test("searches are settled once, add up apart from tokens, and are part of the ledger's check", async () => {
  const { database, customer } = await open();
  const batch = [ranking(customer, 3), ranking(customer, 1), settlementOf(customer)];
  expect((await settle(database, batch)).settled).toBe(3);
  expect((await settle(database, batch)).settled).toBe(0);
  const today = dayOf(Date.now());
  const days = await usageByModelAndDay(database, { accountId: "acme", fromDay: today, toDay: today });
  expect(days.map(({ model, searches, chargeNanoUsd }) => [model, searches, chargeNanoUsd])).toEqual([
    ["modelx-v4-pro", 0, 90_000n],
    ["searcher", 4, 8_000_000n],
  ]);
  const hours = await usageByHour(database, { accountId: "acme", from: new Date(`${today}T00:00:00Z`), to: new Date() });
  expect(hours.reduce((sum, { searches }) => sum + searches, 0)).toBe(4);
  expect(await checkLedger(database)).toEqual([]);
  await database.execute("UPDATE usage_by_day SET searches = searches + 1 WHERE model = 'searcher'");
  expect(await checkLedger(database)).toMatchObject([{ check: "days", expected: 4n, found: 5n }]);
});

test("rows of the version before have no units, and its statements still work", async () => {
  const { database, customer } = await open();
  await settle(database, [settlementOf(customer)]);
  await database.execute(
    `INSERT INTO price_version (model, version, input_pico_usd, cached_input_pico_usd, cache_write_pico_usd, output_pico_usd, schedule)
     VALUES ('modelx-v4-pro', 2, 1, 1, 1, 1, '[{"fromMs":1,"daily":null,"price":{"inputPicoUsd":"7","cachedInputPicoUsd":"7","cacheWritePicoUsd":"7","outputPicoUsd":"7"}}]')`,
  );
  await database.execute("UPDATE model SET price_version_id = (SELECT max(id) FROM price_version) WHERE name = 'modelx-v4-pro'");
  const listed = await listModels(database, Date.now());
  expect(listed.find(({ model }) => model.name === "modelx-v4-pro")?.price).toEqual({
    inputPicoUsd: 7n,
    cachedInputPicoUsd: 7n,
    cacheWritePicoUsd: 7n,
    outputPicoUsd: 7n,
    unitPicoUsd: 0n,
  });
});

test("margins count searches at the Model's cost", async () => {
  const { database, customer } = await open();
  await settle(database, [ranking(customer, 4)]);
  const today = dayOf(Date.now());
  const { margin, usage } = await readServiceFigures(database, { fromDay: today, toDay: today });
  expect(margin).toEqual({ chargeNanoUsd: 8_000_000n, costNanoUsd: 2_000_000n });
  expect(usage.searches).toBe(4);
});

test("logs, usage, a request's own page, prices and files show searches (S27)", async () => {
  const { database, customer } = await open();
  const { inAccount } = await openDashboard(database);
  const ann = await inAccount(customer.accountId, "owner");
  const two = ranking(customer, 2);
  await settle(database, [two, settlementOf(customer)]);
  const get = async (path: string) => (await ann.get(path)).body;
  const textOf = async (path: string) => (await get(path)).replace(/<[^>]*>/g, " ").replace(/\s+/g, " ");
  expect(await textOf("/dashboard/usage/requests?range=today")).toContain("2 searches");
  expect(await textOf("/dashboard/usage?range=today")).toMatch(/Searches 2 By hour Spend Requests Tokens Searches /);
  expect(await get("/dashboard/usage?range=today&unit=searches")).toContain("Searches by hour and model");
  const request = await textOf(`/dashboard/usage/requests/${two.requestId}`);
  for (const words of [
    "Searches 2 $2.00 per 1,000 $0.004000",
    "Input tokens 40 $0.00 per million $0.000000",
    "Charged: $0.004000000",
  ])
    expect.soft(request).toContain(words);
  expect(await textOf("/dashboard/models")).toContain("$2.00 per 1,000 searches");
  expect(await textOf("/dashboard/models")).toContain("per million tokens unless stated otherwise");
  const model = await textOf("/dashboard/models/searcher");
  expect(model).toMatch(
    /USD per 1,000 searches\. A search is a query with up to 100 documents.*1,000 searches Standard now \$2\.00/,
  );
  expect(await get("/dashboard/usage/csv/models?range=today")).toContain("searcher,1,40,0,0,0,0,2,0,0,0,0.004000000");
  expect(await get("/dashboard/usage/csv/requests?range=today")).toMatch(
    /searcher,rerank,.*,0,2,0,0,0,420,,.*,2\.000000,0\.00,0\.000000,0\.00,,1,0\.004000000/,
  );
});

test("pages show no class of usage, and no figure, that an account has none of (S27)", async () => {
  const { database, customer } = await open();
  const { inAccount } = await openDashboard(database);
  const ann = await inAccount(customer.accountId, "owner");
  const bodyOf = async (path: string) => (await ann.get(path)).body;
  const one = ranking(customer, 1);
  await settle(database, [one]);
  const usage = await bodyOf("/dashboard/usage?range=today");
  expect(usage).toContain('data-label="Searches"');
  for (const absent of ["Cached input", "Cache write", "Output"]) expect(usage).not.toContain(`data-label="${absent}"`);
  const request = await bodyOf(`/dashboard/usage/requests/${one.requestId}`);
  for (const absent of ["Cached input", "Output", "Time to first token"]) expect(request).not.toContain(absent);
  const other = await createCustomer(database, "globex");
  const bob = await inAccount(other.accountId, "owner");
  await settle(database, [settlementOf(other)]);
  expect((await bob.get("/dashboard/usage?range=today")).body).not.toMatch(/searches/i);
});

test("the administrator's models list prices of searches with the Model's own classes alone", async () => {
  const { database } = await open();
  await publishModels(database, [{ model: RERANK, price: BY_SEARCH, schedule: [AT_NIGHT] }]);
  const { admin } = await openDashboard(database);
  const { body } = await (await admin()).get("/dashboard/admin/models");
  const text = body.replace(/<[^>]*>/g, " ").replace(/\s+/g, " ");
  expect(text).toContain("Prices are in USD per million tokens and per 1,000 searches.");
  expect(text).toContain("Effective from 1,000 searches Scheduled prices");
  expect(text).toContain("22:00 to 06:00 UTC: 1,000 searches $1.50");
});

test("the management API and statements report searches", async () => {
  const { database, customer } = await open();
  const { inAccount, program: programOf } = await openDashboard(database);
  const ann = await inAccount(customer.accountId, "owner");
  const program = await programOf(customer.accountId, ann.personId, "viewer");
  await settle(database, [ranking(customer, 2)]);
  const sums = { model: "searcher", searches: 2, tokens: { input: 40 }, amount: "0.004000000" };
  expect((await program.get("/api/v1/usage")).json().data).toMatchObject([sums]);
  expect((await program.get("/api/v1/usage/requests")).json().data).toMatchObject([{ ...sums, price: { search: "2.00" } }]);
  const { data } = (await program.get("/api/v1/models")).json();
  expect(data).toMatchObject([{ price: { search: "0.00" } }, { name: "searcher", price: { input: "0.00", search: "2.00" } }]);
  const statement = await readStatement(database, { accountId: customer.accountId, month: monthOf(Date.now()) });
  expect(statement).toMatchObject({ usage: [{ searches: 2 }], usageTotal: { searches: 2 } });
});
