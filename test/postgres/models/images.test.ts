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

/** Images from the price to the books, the pages and the files (S27, S28, S46). */
const postgres = usePostgres();

const CENT = 10_000_000_000n;
const BY_IMAGE = {
  inputPicoUsd: 0n,
  cachedInputPicoUsd: 0n,
  cacheWritePicoUsd: 0n,
  outputPicoUsd: 0n,
  unitPicoUsd: 4n * CENT,
  imagePrices: [
    { size: "1024x1024", quality: "high", unitPicoUsd: 16n * CENT },
    { size: null, quality: "low", unitPicoUsd: CENT },
  ],
} satisfies Price;
const AT_NIGHT = {
  fromMs: null,
  daily: { fromMinute: 1320, untilMinute: 360 },
  price: { ...BY_IMAGE, unitPicoUsd: 2n * CENT, imagePrices: [{ size: null, quality: "high", unitPicoUsd: 3n * CENT }] },
};
const COST: Price = { ...BY_IMAGE, unitPicoUsd: CENT, imagePrices: undefined };
const IMAGES = catalogueModel("painter", {
  interfaces: ["image_generation"],
  capabilities: ["image_generation"],
  maxOutputTokens: 8_192,
});

async function open() {
  const { database } = await postgres.migrated();
  const models = [
    { model: catalogueModel("modelx-v4-pro"), price: PRICE },
    { model: IMAGES, price: BY_IMAGE, schedule: [], cost: COST },
  ];
  await publishModels(database, models);
  const customer = await createCustomer(database, "acme");
  return { database, customer, publish: () => publishModels(database, models) };
}

/** Of the dearest price. */
function pictures(customer: Customer, units: number) {
  return settlementOf(customer, {
    model: IMAGES.name,
    interface: "image_generation",
    priceVersionId: 2n,
    usage: { inputTokens: 40, cachedInputTokens: 0, cacheWriteTokens: 0, outputTokens: 0, reasoningTokens: 0, units },
    unitPrice: { picoUsd: 16n * CENT, terms: "1024x1024, high" },
    chargeNanoUsd: BigInt(units) * 160_000_000n,
  });
}

test("prices of images are published once, with their schedule and cost", async () => {
  const { database, publish } = await open();
  expect(await publish()).toMatchObject({ repriced: [] });
  const [, before] = await listModels(database, Date.parse("2026-11-23T12:00:00Z"));
  expect(before).toMatchObject({ price: BY_IMAGE });
  const scheduled = [{ model: IMAGES, price: BY_IMAGE, schedule: [AT_NIGHT], cost: COST }];
  expect(await publishModels(database, scheduled)).toMatchObject({ repriced: [IMAGES.name] });
  expect(await publishModels(database, scheduled)).toMatchObject({ repriced: [] });
  const [listed] = await listModels(database, Date.parse("2026-11-23T23:00:00Z"));
  expect(listed).toMatchObject({ price: AT_NIGHT.price, standardPrice: BY_IMAGE, schedule: [AT_NIGHT] });
  const reordered = { ...BY_IMAGE, imagePrices: BY_IMAGE.imagePrices.toReversed() };
  expect(await publishModels(database, [{ model: IMAGES, price: reordered }])).toMatchObject({ repriced: [IMAGES.name] });
});

test("images are settled once, add up apart from searches and tokens, and are part of the ledger's check", async () => {
  const { database, customer } = await open();
  const batch = [pictures(customer, 3), pictures(customer, 1), settlementOf(customer)];
  expect((await settle(database, batch)).settled).toBe(3);
  expect((await settle(database, batch)).settled).toBe(0);
  const today = dayOf(Date.now());
  const days = await usageByModelAndDay(database, { accountId: "acme", fromDay: today, toDay: today });
  expect(days.map(({ model, searches, images, chargeNanoUsd }) => [model, searches, images, chargeNanoUsd])).toEqual([
    ["modelx-v4-pro", 0, 0, 90_000n],
    ["painter", 0, 4, 640_000_000n],
  ]);
  const hours = await usageByHour(database, { accountId: "acme", from: new Date(`${today}T00:00:00Z`), to: new Date() });
  expect(hours.reduce((sum, { images }) => sum + images, 0)).toBe(4);
  expect(await checkLedger(database)).toEqual([]);
  await database.execute("UPDATE usage_by_day SET images = images + 1 WHERE model = 'painter'");
  expect(await checkLedger(database)).toMatchObject([{ check: "days", expected: 4n, found: 5n }]);
});

test("margins count images at the Model's cost", async () => {
  const { database, customer } = await open();
  await settle(database, [pictures(customer, 4)]);
  const today = dayOf(Date.now());
  const { margin, usage } = await readServiceFigures(database, { fromDay: today, toDay: today });
  expect(margin).toEqual({ chargeNanoUsd: 640_000_000n, costNanoUsd: 40_000_000n });
  expect(usage.images).toBe(4);
});

test("logs, usage, a request's own page, prices and files show images, and why they cost what they did (S27)", async () => {
  const { database, customer } = await open();
  const { inAccount } = await openDashboard(database);
  const ann = await inAccount(customer.accountId, "owner");
  const two = pictures(customer, 2);
  await settle(database, [two, settlementOf(customer)]);
  const get = async (path: string) => (await ann.get(path)).body;
  const textOf = async (path: string) => (await get(path)).replace(/<[^>]*>/g, " ").replace(/\s+/g, " ");
  expect(await textOf("/dashboard/usage/requests?range=today")).toContain("2 images");
  expect(await textOf("/dashboard/usage?range=today")).toMatch(/Images 2 By hour Spend Requests Tokens Images /);
  expect(await get("/dashboard/usage?range=today&unit=images")).toContain("Images by hour and model");
  const request = await textOf(`/dashboard/usage/requests/${two.requestId}`);
  for (const words of ["Images, 1024x1024, high 2 $0.16 each $0.320000", "Charged: $0.320000000"])
    expect.soft(request).toContain(words);
  expect(await textOf("/dashboard/models")).toContain("$0.01–$0.16 per image");
  const model = await textOf("/dashboard/models/painter");
  expect(model).toMatch(
    /USD per image\. If neither the request nor the answer states .*Image, 1024x1024, high Image, low Other images Standard now \$0\.16 \$0\.01 \$0\.04/,
  );
  expect(await get("/dashboard/usage/csv/models?range=today")).toContain("painter,1,40,0,0,0,0,0,2,0,0,0.320000000");
  expect(await get("/dashboard/usage/csv/requests?range=today")).toMatch(
    /painter,image_generation,.*,0,0,2,0,0,420,,.*,0\.000000,0\.16,0\.000000,0\.00,"1024x1024, high",1,0\.320000000/,
  );
});

test("the management API and statements report images", async () => {
  const { database, customer } = await open();
  const { inAccount, program: programOf } = await openDashboard(database);
  const ann = await inAccount(customer.accountId, "owner");
  const program = await programOf(customer.accountId, ann.personId, "viewer");
  await settle(database, [pictures(customer, 2)]);
  const sums = { model: "painter", searches: 0, images: 2, tokens: { input: 40 }, amount: "0.320000000" };
  expect((await program.get("/api/v1/usage")).json().data).toMatchObject([sums]);
  expect((await program.get("/api/v1/usage/requests")).json().data).toMatchObject([
    { ...sums, price: { search: "0.00", image: "0.16" }, image_terms: "1024x1024, high" },
  ]);
  const { data } = (await program.get("/api/v1/models")).json();
  const prices = [
    { size: "1024x1024", quality: "high", price: "0.16" },
    { size: null, quality: "low", price: "0.01" },
  ];
  expect(data).toMatchObject([
    { price: { image: "0.00" }, image_prices: [] },
    { name: "painter", price: { search: "0.00", image: "0.04" }, image_prices: prices },
  ]);
  const statement = await readStatement(database, { accountId: customer.accountId, month: monthOf(Date.now()) });
  expect(statement).toMatchObject({ usage: [{ images: 2 }], usageTotal: { images: 2 } });
});
