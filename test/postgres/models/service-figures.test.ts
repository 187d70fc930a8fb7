import { expect, test } from "vitest";
import { v7 as uuidv7 } from "uuid";
import * as z from "zod";
import { DAY_MS, dayOf } from "../../../contract/days.ts";
import { publishModels } from "../../../ledger/models/catalogue.ts";
import { beginPayment, completePayment } from "../../../ledger/payments/payments.ts";
import { setAdmin } from "../../../ledger/people/admins.ts";
import { createPartitionsFor } from "../../../ledger/postgres/partitions.ts";
import { settle } from "../../../ledger/settlement/settle.ts";
import { readServiceFigures } from "../../../ledger/usage/service-figures.ts";
import { openDashboard, type Client, type SignedIn } from "../../support/dashboard/dashboard.ts";
import { catalogueModel, PRICE, seedLedger, settlementOf } from "../../support/billing/ledger.ts";
import { usePostgres } from "../../support/billing/postgres.ts";

/** Figures of the whole service, on the page and in the API of those who run it. */
const postgres = usePostgres();

async function open() {
  const { database } = await postgres.migrated();
  const dashboard = await openDashboard(database);
  const admin = await dashboard.admin();
  const ann = await dashboard.owner("ann@example.com");
  return { ...dashboard, admin, ann, accountId: ann.accountId };
}

test("the service's figures add up payments, grants, usage and errors of all accounts in the chosen days", async () => {
  const { database, admin, accountId } = await open();
  const customer = await seedLedger(database);
  await settle(database, [settlementOf(customer, { chargeNanoUsd: 1_250_000_000n })]);
  for (const [id, amountNanoUsd] of [
    ["cs_test_1", 20_000_000_000n],
    ["cs_test_2", 5_000_000_000n],
  ] as const) {
    const name = { provider: "test", providerPaymentId: id };
    await beginPayment(database, { accountId, amountNanoUsd, ...name });
    if (id === "cs_test_1") await completePayment(database, name);
  }
  await database.execute("UPDATE payment SET refunded_nano_usd = 3000000000 WHERE paid_at IS NOT NULL");
  await database.execute("INSERT INTO model_hour VALUES ($1, date_trunc('hour', now()), 200, 3)", [settlementOf(customer).model]);
  const days = { fromDay: dayOf(Date.now()), toDay: dayOf(Date.now()) };
  const figures = await readServiceFigures(database, days);
  expect(figures).toMatchObject({
    payments: { count: 1, amountNanoUsd: 20_000_000_000n, accounts: 1 },
    returnedNanoUsd: 3_000_000_000n,
    usage: { requests: 1, chargeNanoUsd: 1_250_000_000n },
    activeAccounts: 1,
    models: [{ answered: 200, failed: 3 }],
    topAccounts: [{ accountId: customer.accountId, chargeNanoUsd: 1_250_000_000n, requests: 1 }],
  });
  const before = await readServiceFigures(database, { fromDay: "2025-01-01", toDay: "2025-01-31" });
  expect(before).toMatchObject({
    payments: { count: 0, amountNanoUsd: 0n },
    usage: { requests: 0 },
    models: [],
    topAccounts: [],
  });
  const page = (await admin.get("/dashboard/admin/figures?range=today")).body;
  for (const words of ["$20.00", "$3.00", "$1.25", "1.50%", `/dashboard/admin/accounts/${customer.accountId}`])
    expect(page).toContain(words);
  expect((await admin.get("/dashboard/admin/figures?range=nonsense")).statusCode).toBe(200);
});

test("margins compare charges with a Model's cost, from the day on which it is set", async () => {
  const { database, admin } = await open();
  const customer = await seedLedger(database);
  const free = { cachedInputPicoUsd: 0n, cacheWritePicoUsd: 0n, outputPicoUsd: 0n, unitPicoUsd: 0n };
  const publish = (inputPicoUsd?: bigint) =>
    publishModels(
      database,
      ["modelx-v4-pro", "modelx-unknown"].map((name) => ({
        model: catalogueModel(name),
        price: PRICE,
        cost: inputPicoUsd === undefined || name === "modelx-unknown" ? null : { inputPicoUsd, ...free },
      })),
    );
  const dayAgo = Date.now() - DAY_MS;
  const used = { chargeNanoUsd: 1_250_000_000n };
  await createPartitionsFor(database, [uuidv7({ msecs: dayAgo })]);
  await settle(database, [
    settlementOf(customer, used),
    settlementOf(customer, { ...used, model: "modelx-unknown" }),
    settlementOf(customer, { ...used, requestId: uuidv7({ msecs: dayAgo }), startedAt: new Date(dayAgo) }),
  ]);
  const read = () => readServiceFigures(database, { fromDay: dayOf(dayAgo), toDay: dayOf(Date.now()) });
  expect((await read()).margin).toBeNull();
  // 100 tokens at 0.005 USD.
  for (const cost of [1n, 5_000_000_000n, 5_000_000_000n]) await publish(cost);
  const { margin, models } = await read();
  expect(margin).toEqual({ chargeNanoUsd: 1_250_000_000n, costNanoUsd: 500_000_000n });
  expect(models.map((each) => [each.model, each.margin])).toEqual([
    ["modelx-v4-pro", margin],
    ["modelx-unknown", null],
  ]);
  expect(
    await database.query({ text: "SELECT count(*)::int AS count FROM model_cost", row: z.strictObject({ count: z.int() }) }),
  ).toEqual([{ count: 2 }]);
  const page = (await admin.get("/dashboard/admin/figures?range=7d")).body;
  expect(page).toContain("60.0%");
  expect((await admin.get("/api/v1/service/figures")).json()).toMatchObject({
    margin: { charged: "1.250000000", cost: "0.500000000" },
    usage: { requests: 3, amount: "3.750000000" },
    models: [{ model: "modelx-v4-pro" }, { model: "modelx-unknown", margin: null }],
    top_accounts: [{ account_id: customer.accountId, amount: "3.750000000" }],
  });
  await publish();
  expect((await read()).margin).toBeNull();
});

test("a token reads the service's figures if an administrator allows it, and while its creator is one", async () => {
  const { database, admin, ann, client } = await open();
  const create = async (who: SignedIn, form: Record<string, string> = {}) => {
    const { body } = await who.post("/dashboard/tokens", { name: "reports", role: "viewer", ...form });
    return client({ authorization: `Bearer ${/mgmt_[\w-]+/.exec(body)?.[0]}` });
  };
  const status = async (program: Client) => (await program.get("/api/v1/service/figures")).statusCode;
  const allowed = await create(admin, { service: "yes" });
  expect(await status(allowed)).toBe(200);
  expect((await admin.get("/dashboard/tokens")).body).toContain("Service figures");
  expect([await status(await create(admin)), await status(await create(ann, { service: "yes" }))]).toEqual([403, 403]);
  await setAdmin(database, { email: "root@example.com", isAdmin: false });
  expect(await status(allowed)).toBe(403);
});
