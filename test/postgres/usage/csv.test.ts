import { expect, onTestFinished, test } from "vitest";
import { createApp } from "../../../dashboard/app.ts";
import type { Database } from "../../../ledger/postgres/database.ts";
import { createApiKey } from "../../../ledger/keys/keys.ts";
import { signUp } from "../../../ledger/people/persons.ts";
import { startSession } from "../../../ledger/sign-in/sessions.ts";
import { publishModels } from "../../../ledger/models/catalogue.ts";
import { settle } from "../../../ledger/settlement/settle.ts";
import { catalogueModel, PEPPER, PRICE, settlementOf } from "../../support/billing/ledger.ts";
import { captureLog } from "../../support/stacks/log.ts";
import { usePostgres } from "../../support/billing/postgres.ts";

/** Usage as files, from a real Postgres. */
const postgres = usePostgres();

async function customerOf(database: Database, email: string, keyName = "laptop") {
  const { person, accountId } = await signUp(database, { email, name: "Ada", password: "a few words together" });
  const { publicId: keyId } = await createApiKey(database, { accountId, name: keyName, pepper: PEPPER });
  const token = await startSession(database, { personId: person.id, accountId, userAgent: "" });
  return { accountId, keyId, token };
}

async function setUp() {
  const { database } = await postgres.migrated();
  await publishModels(database, [{ model: catalogueModel("modelx-v4-pro"), price: PRICE }]);
  const app = await createApp({
    database,
    log: captureLog().log,
    pepper: PEPPER,
    publicBaseUrl: "http://gateway.example",
    signUp: { isOpen: true, domains: null },
  });
  onTestFinished(() => app.close());
  const load = (token: string, path: string) =>
    app.inject({ method: "GET", url: `/dashboard/usage/csv/${path}`, cookies: { session: token } });
  /** Rows of a file, without its head. */
  const rowsOf = async (token: string, path: string) => (await load(token, path)).body.split("\r\n").slice(1, -1);
  return { database, load, rowsOf };
}

test("every request is in the file, once and with its exact charge, over any number of pages (S27)", async () => {
  const { database, load, rowsOf } = await setUp();
  const customer = await customerOf(database, "ada@example.com");
  const settlements = Array.from({ length: 1203 }, () => settlementOf(customer));
  await settle(database, settlements);
  const file = await load(customer.token, "requests");
  expect(file.headers["content-type"]).toBe("text/csv; charset=utf-8");
  expect(file.headers["content-disposition"]).toMatch(/^attachment; filename="usage-requests-[\d-]+\.csv"$/);
  const rows = await rowsOf(customer.token, "requests");
  expect(new Set(rows.map((row) => row.split(",")[0]))).toEqual(new Set(settlements.map(({ requestId }) => requestId)));
  expect(rows).toHaveLength(1203);
  expect(rows[0]).toMatch(
    /,complete,no,100,0,0,50,10,0,0,0,0,420,,0\.300000,0\.030000,0\.300000,1\.200000,0\.000000,0\.00,0\.000000,0\.00,,1,0\.000090000,,no$/,
  );
});

test("totals by day, model and key equal those of the requests", async () => {
  const { database, rowsOf } = await setUp();
  const customer = await customerOf(database, "ada@example.com");
  await settle(database, [settlementOf(customer), settlementOf(customer)]);
  const sums = "2,200,0,0,100,20,0,0,0,0,0.000180000";
  const today = new Date().toISOString().slice(0, 10);
  expect(await rowsOf(customer.token, "days?range=month")).toEqual([`${today},modelx-v4-pro,${sums}`]);
  expect(await rowsOf(customer.token, "models")).toEqual([`modelx-v4-pro,${sums}`]);
  expect(await rowsOf(customer.token, "keys")).toEqual([`${customer.keyId},laptop,no,${sums}`]);
  expect(await rowsOf(customer.token, "members")).toEqual([`,No member,${sums}`]);
});

test("a file has its page's filters; an invalid filter is rejected, not ignored", async () => {
  const { database, load, rowsOf } = await setUp();
  const customer = await customerOf(database, "ada@example.com");
  const { publicId: keyId } = await createApiKey(database, { accountId: customer.accountId, name: "ci", pepper: PEPPER });
  const ofCi = settlementOf({ ...customer, keyId });
  await settle(database, [settlementOf(customer), ofCi]);
  const rows = await rowsOf(customer.token, `requests?key=${keyId}`);
  expect(rows.map((row) => row.split(",")[0])).toEqual([ofCi.requestId]);
  expect(await rowsOf(customer.token, "models?model=modelx-chat")).toEqual([]);
  expect(await rowsOf(customer.token, `days?key=${keyId}&model=modelx-v4-pro`)).toHaveLength(1);
  expect((await load(customer.token, "requests?key=a&key=b")).statusCode).toBe(400);
  expect((await load(customer.token, "requests?model=%00")).statusCode).toBe(400);
  expect((await load(customer.token, "everything")).statusCode).toBe(404);
});

test("another account's usage is in no file, even if its key is requested; a guest must sign in", async () => {
  const { database, load, rowsOf } = await setUp();
  const ada = await customerOf(database, "ada@example.com");
  const eve = await customerOf(database, "eve@example.com");
  await settle(database, [settlementOf(ada)]);
  for (const view of ["days", "models", "keys", "requests"])
    expect(await rowsOf(eve.token, `${view}?key=${ada.keyId}`)).toEqual([]);
  expect((await load("", "requests")).headers["location"]).toMatch(/^\/dashboard\/sign-in/);
});

test("a key's name cannot become a formula in a spreadsheet", async () => {
  const { database, rowsOf } = await setUp();
  const customer = await customerOf(database, "ada@example.com", '=HYPERLINK("x")');
  await settle(database, [settlementOf(customer)]);
  const [row] = await rowsOf(customer.token, "keys");
  expect(row).toContain(`,"'=HYPERLINK(""x"")",no,`);
});
