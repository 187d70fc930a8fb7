import { expect, test } from "vitest";
import { dayOf } from "../../../contract/days.ts";
import { monthOf } from "../../../ledger/billing/month.ts";
import { readStatement } from "../../../ledger/billing/statement.ts";
import { publishModels } from "../../../ledger/models/catalogue.ts";
import { listModels } from "../../../ledger/models/model-list.ts";
import type { Price } from "../../../ledger/money.ts";
import { settle } from "../../../ledger/settlement/settle.ts";
import { checkLedger } from "../../../ledger/upkeep/check.ts";
import { usageByHour, usageByModelAndDay } from "../../../ledger/usage/reports.ts";
import { readServiceFigures } from "../../../ledger/usage/service-figures.ts";
import { openDashboard } from "../../support/dashboard/dashboard.ts";
import { catalogueModel, createCustomer, PRICE, settlementOf, type Customer } from "../../support/billing/ledger.ts";
import { usePostgres } from "../../support/billing/postgres.ts";

/** Speech from the price to the books, the pages and the files (S27, S28, S52). */
const postgres = usePostgres();

/** 15 USD per million characters. */
const BY_CHARACTER = {
  inputPicoUsd: 0n,
  cachedInputPicoUsd: 0n,
  cacheWritePicoUsd: 0n,
  outputPicoUsd: 0n,
  unitPicoUsd: 15_000_000n,
} satisfies Price;
const AT_NIGHT = {
  fromMs: null,
  daily: { fromMinute: 1320, untilMinute: 360 },
  price: { ...BY_CHARACTER, unitPicoUsd: 7_500_000n },
};
const COST: Price = { ...BY_CHARACTER, unitPicoUsd: 12_000_000n };
const SPEECH = catalogueModel("speaker", { interfaces: ["speech"], capabilities: ["speech"], maxOutputTokens: 0 });

async function open() {
  const { database } = await postgres.migrated();
  const models = [
    { model: catalogueModel("modelx-v4-pro"), price: PRICE },
    { model: SPEECH, price: BY_CHARACTER, schedule: [], cost: COST },
  ];
  await publishModels(database, models);
  const customer = await createCustomer(database, "acme");
  return { database, customer, publish: () => publishModels(database, models) };
}

function spoken(customer: Customer, units: number) {
  return settlementOf(customer, {
    model: SPEECH.name,
    interface: "speech",
    priceVersionId: 2n,
    usage: { inputTokens: 40, cachedInputTokens: 0, cacheWriteTokens: 0, outputTokens: 0, reasoningTokens: 0, units },
    chargeNanoUsd: BigInt(units) * 15_000n,
  });
}

test("prices of characters are published once, with their schedule and cost", async () => {
  const { database, publish } = await open();
  expect(await publish()).toMatchObject({ repriced: [] });
  const scheduled = [{ model: SPEECH, price: BY_CHARACTER, schedule: [AT_NIGHT], cost: COST }];
  expect(await publishModels(database, scheduled)).toMatchObject({ repriced: [SPEECH.name] });
  expect(await publishModels(database, scheduled)).toMatchObject({ repriced: [] });
  const [listed] = await listModels(database, Date.parse("2026-11-23T23:00:00Z"));
  expect(listed).toMatchObject({ price: AT_NIGHT.price, standardPrice: BY_CHARACTER, schedule: [AT_NIGHT] });
});

test("characters are settled once, add up apart from other units, and are part of the ledger's check", async () => {
  const { database, customer } = await open();
  const batch = [spoken(customer, 3_000), spoken(customer, 1_000), settlementOf(customer)];
  expect((await settle(database, batch)).settled).toBe(3);
  expect((await settle(database, batch)).settled).toBe(0);
  const today = dayOf(Date.now());
  const days = await usageByModelAndDay(database, { accountId: "acme", fromDay: today, toDay: today });
  expect(
    days.map(({ model, searches, images, characters, chargeNanoUsd }) => [model, searches, images, characters, chargeNanoUsd]),
  ).toEqual([
    ["modelx-v4-pro", 0, 0, 0, 90_000n],
    ["speaker", 0, 0, 4_000, 60_000_000n],
  ]);
  const hours = await usageByHour(database, { accountId: "acme", from: new Date(`${today}T00:00:00Z`), to: new Date() });
  expect(hours.reduce((sum, { characters }) => sum + characters, 0)).toBe(4_000);
  expect(await checkLedger(database)).toEqual([]);
  await database.execute("UPDATE usage_by_day SET characters = characters + 1 WHERE model = 'speaker'");
  expect(await checkLedger(database)).toMatchObject([{ check: "days", expected: 4_000n, found: 4_001n }]);
});

test("margins count characters at the Model's cost", async () => {
  const { database, customer } = await open();
  await settle(database, [spoken(customer, 4_000)]);
  const today = dayOf(Date.now());
  const { margin, usage } = await readServiceFigures(database, { fromDay: today, toDay: today });
  expect(margin).toEqual({ chargeNanoUsd: 60_000_000n, costNanoUsd: 48_000_000n });
  expect(usage.characters).toBe(4_000);
});

test("logs, usage, a request's own page, prices and files show characters (S27)", async () => {
  const { database, customer } = await open();
  const { inAccount } = await openDashboard(database);
  const ann = await inAccount(customer.accountId, "owner");
  const one = spoken(customer, 1_200);
  await settle(database, [one, settlementOf(customer)]);
  const get = async (path: string) => (await ann.get(path)).body;
  const textOf = async (path: string) => (await get(path)).replace(/<[^>]*>/g, " ").replace(/\s+/g, " ");
  expect(await textOf("/dashboard/usage/requests?range=today")).toContain("1,200 characters");
  expect(await textOf("/dashboard/usage?range=today")).toMatch(/Characters 1,200 By hour Spend Requests Tokens Characters /);
  expect(await get("/dashboard/usage?range=today&unit=characters")).toContain("Characters by hour and model");
  const request = await textOf(`/dashboard/usage/requests/${one.requestId}`);
  for (const words of ["Characters 1,200 $15.00 per million $0.018000", "Charged: $0.018000000"])
    expect.soft(request).toContain(words);
  expect(await textOf("/dashboard/models")).toContain("$15.00 per million characters");
  expect(await textOf("/dashboard/models/speaker")).toMatch(
    /USD per million characters\..* Million characters Standard now \$15\.00/,
  );
  expect(await get("/dashboard/usage/csv/models?range=today")).toContain("speaker,1,40,0,0,0,0,0,0,1200,0,0.018000000");
  expect(await get("/dashboard/usage/csv/requests?range=today")).toMatch(
    /speaker,speech,.*,0,0,0,1200,0,420,,.*,0\.000000,0\.00,15\.000000,0\.00,,1,0\.018000000/,
  );
});

test("the management API and statements report characters", async () => {
  const { database, customer } = await open();
  const { inAccount, program: programOf } = await openDashboard(database);
  const ann = await inAccount(customer.accountId, "owner");
  const program = await programOf(customer.accountId, ann.personId, "viewer");
  await settle(database, [spoken(customer, 1_200)]);
  const sums = { model: "speaker", searches: 0, images: 0, characters: 1_200, tokens: { input: 40 }, amount: "0.018000000" };
  expect((await program.get("/api/v1/usage")).json().data).toMatchObject([sums]);
  expect((await program.get("/api/v1/usage/requests")).json().data).toMatchObject([
    { ...sums, price: { search: "0.00", image: "0.00", character: "15.00" } },
  ]);
  const { data } = (await program.get("/api/v1/models")).json();
  expect(data).toMatchObject([
    { price: { character: "0.00" } },
    { name: "speaker", price: { search: "0.00", image: "0.00", character: "15.00" } },
  ]);
  const statement = await readStatement(database, { accountId: customer.accountId, month: monthOf(Date.now()) });
  expect(statement).toMatchObject({ usage: [{ characters: 1_200 }], usageTotal: { characters: 1_200 } });
});
