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

/** Transcriptions from the price to the books, the pages and the files (S27, S28, S54). */
const postgres = usePostgres();

/** 0.006 USD per minute. */
const BY_MINUTE = {
  inputPicoUsd: 0n,
  cachedInputPicoUsd: 0n,
  cacheWritePicoUsd: 0n,
  outputPicoUsd: 0n,
  unitPicoUsd: 100_000_000n,
} satisfies Price;
const AT_NIGHT = {
  fromMs: null,
  daily: { fromMinute: 1320, untilMinute: 360 },
  price: { ...BY_MINUTE, unitPicoUsd: 50_000_000n },
};
const COST: Price = { ...BY_MINUTE, unitPicoUsd: 80_000_000n };
const TRANSCRIPTION = catalogueModel("transcriber", { interfaces: ["transcription"], capabilities: ["transcription"] });

async function open() {
  const { database } = await postgres.migrated();
  const models = [
    { model: catalogueModel("modelx-v4-pro"), price: PRICE },
    { model: TRANSCRIPTION, price: BY_MINUTE, schedule: [], cost: COST },
  ];
  await publishModels(database, models);
  const customer = await createCustomer(database, "acme");
  return { database, customer, publish: () => publishModels(database, models) };
}

function heard(customer: Customer, units: number) {
  return settlementOf(customer, {
    model: TRANSCRIPTION.name,
    interface: "transcription",
    priceVersionId: 2n,
    usage: { inputTokens: 40, cachedInputTokens: 0, cacheWriteTokens: 0, outputTokens: 0, reasoningTokens: 0, units },
    chargeNanoUsd: BigInt(units) * 100_000n,
  });
}

test("prices of minutes are published once, with their schedule and cost", async () => {
  const { database, publish } = await open();
  expect(await publish()).toMatchObject({ repriced: [] });
  const scheduled = [{ model: TRANSCRIPTION, price: BY_MINUTE, schedule: [AT_NIGHT], cost: COST }];
  expect(await publishModels(database, scheduled)).toMatchObject({ repriced: [TRANSCRIPTION.name] });
  expect(await publishModels(database, scheduled)).toMatchObject({ repriced: [] });
  const [listed] = await listModels(database, Date.parse("2026-11-23T23:00:00Z"));
  expect(listed).toMatchObject({ price: AT_NIGHT.price, standardPrice: BY_MINUTE, schedule: [AT_NIGHT] });
});

test("seconds are settled once, add up apart from other units, and are part of the ledger's check", async () => {
  const { database, customer } = await open();
  const batch = [heard(customer, 90), heard(customer, 30), settlementOf(customer)];
  expect((await settle(database, batch)).settled).toBe(3);
  expect((await settle(database, batch)).settled).toBe(0);
  const today = dayOf(Date.now());
  const days = await usageByModelAndDay(database, { accountId: "acme", fromDay: today, toDay: today });
  expect(
    days.map(({ model, images, characters, seconds, chargeNanoUsd }) => [model, images, characters, seconds, chargeNanoUsd]),
  ).toEqual([
    ["modelx-v4-pro", 0, 0, 0, 90_000n],
    ["transcriber", 0, 0, 120, 12_000_000n],
  ]);
  const hours = await usageByHour(database, { accountId: "acme", from: new Date(`${today}T00:00:00Z`), to: new Date() });
  expect(hours.reduce((sum, { seconds }) => sum + seconds, 0)).toBe(120);
  expect(await checkLedger(database)).toEqual([]);
  await database.execute("UPDATE usage_by_day SET seconds = seconds + 1 WHERE model = 'transcriber'");
  expect(await checkLedger(database)).toMatchObject([{ check: "days", expected: 120n, found: 121n }]);
});

test("margins count minutes at the Model's cost", async () => {
  const { database, customer } = await open();
  await settle(database, [heard(customer, 120)]);
  const today = dayOf(Date.now());
  const { margin, usage } = await readServiceFigures(database, { fromDay: today, toDay: today });
  expect(margin).toEqual({ chargeNanoUsd: 12_000_000n, costNanoUsd: 9_600_000n });
  expect(usage.seconds).toBe(120);
});

test("logs, usage, a request's own page, prices and files show minutes (S27)", async () => {
  const { database, customer } = await open();
  const { inAccount } = await openDashboard(database);
  const ann = await inAccount(customer.accountId, "owner");
  const one = heard(customer, 90);
  await settle(database, [one, settlementOf(customer)]);
  const get = async (path: string) => (await ann.get(path)).body;
  const textOf = async (path: string) => (await get(path)).replace(/<[^>]*>/g, " ").replace(/\s+/g, " ");
  expect(await textOf("/dashboard/usage/requests?range=today")).toContain("90 seconds of audio");
  expect(await textOf("/dashboard/usage?range=today")).toMatch(
    /Minutes of audio 1\.5 By hour Spend Requests Tokens Minutes of audio /,
  );
  expect(await get("/dashboard/usage?range=today&unit=minutes")).toContain("Minutes by hour and model");
  const request = await textOf(`/dashboard/usage/requests/${one.requestId}`);
  for (const words of ["Seconds of audio 90 $0.006 per minute $0.009000", "Charged: $0.009000000"])
    expect.soft(request).toContain(words);
  expect(await textOf("/dashboard/models")).toContain("$0.006 per minute of audio");
  expect(await textOf("/dashboard/models/transcriber")).toMatch(
    /USD per minute of audio\..* Minute of audio Standard now \$0\.006/,
  );
  expect(await get("/dashboard/usage/csv/models?range=today")).toContain("transcriber,1,40,0,0,0,0,0,0,0,90,0.009000000");
  expect(await get("/dashboard/usage/csv/requests?range=today")).toMatch(
    /transcriber,transcription,.*,0,0,0,0,90,420,,.*,0\.000000,0\.00,0\.000000,0\.006,,1,0\.009000000/,
  );
});

test("the management API and statements report seconds", async () => {
  const { database, customer } = await open();
  const { inAccount, program: programOf } = await openDashboard(database);
  const ann = await inAccount(customer.accountId, "owner");
  const program = await programOf(customer.accountId, ann.personId, "viewer");
  await settle(database, [heard(customer, 90)]);
  const sums = { model: "transcriber", images: 0, characters: 0, seconds: 90, tokens: { input: 40 }, amount: "0.009000000" };
  expect((await program.get("/api/v1/usage")).json().data).toMatchObject([sums]);
  expect((await program.get("/api/v1/usage/requests")).json().data).toMatchObject([
    { ...sums, price: { search: "0.00", character: "0.00", minute: "0.006" } },
  ]);
  const { data } = (await program.get("/api/v1/models")).json();
  expect(data).toMatchObject([
    { price: { minute: "0.00" } },
    { name: "transcriber", price: { search: "0.00", character: "0.00", minute: "0.006" } },
  ]);
  const statement = await readStatement(database, { accountId: customer.accountId, month: monthOf(Date.now()) });
  expect(statement).toMatchObject({ usage: [{ seconds: 90 }], usageTotal: { seconds: 90 } });
});
