import { expect, test } from "vitest";
import { postCredit } from "../../../ledger/credit/entries.ts";
import { readBalance } from "../../../ledger/accounts/accounts.ts";
import { readStatement } from "../../../ledger/billing/statement.ts";
import { monthBefore, monthOf } from "../../../ledger/billing/month.ts";
import { beginPayment, completePayment, listPayments } from "../../../ledger/payments/payments.ts";
import { saveCard } from "../../../ledger/payments/saved-cards.ts";
import { createPayments } from "../../../dashboard/payments/payments.ts";
import { settle } from "../../../ledger/settlement/settle.ts";
import { openDashboard } from "../../support/dashboard/dashboard.ts";
import { PEPPER, seedLedger, settlementOf } from "../../support/billing/ledger.ts";
import { textOfPdf } from "../../support/dashboard/pdf-text.ts";
import { usePostgres } from "../../support/billing/postgres.ts";

/** Billing details, receipts and monthly statements, on a real Postgres; documents are read back as a PDF reader does. */
const postgres = usePostgres();
const MONTH = monthOf(Date.now());
const BASE_URL = "http://gateway.example";
const SELLER = { name: "Gateway Betriebs GmbH", addressLines: ["Beispielstraße 1", "10115 Berlin"], taxId: "DE999999999" };
const payments = await createPayments({ provider: "test" }, { publicBaseUrl: BASE_URL, pepper: PEPPER });

async function open() {
  const { database } = await postgres.migrated();
  const dashboard = await openDashboard(database, { payments, operator: { seller: SELLER } });
  return { database, dashboard, owner: await dashboard.owner("ada@example.com") };
}

test("only owners save billing details, which are printed on receipts next to the seller's", async () => {
  const { database, dashboard, owner } = await open();
  const { accountId } = owner;
  const form = { name: "株式会社モデル & Söhne ООО Ромашка", address: "Ödeweg 1\r\n\r\n 東京都千代田区 ", taxId: "JP 123-456" };
  for (const role of ["viewer", "member"] as const) {
    const other = await dashboard.inAccount(accountId, role);
    expect((await other.post("/dashboard/billing", form)).statusCode).toBe(403);
    expect((await other.get("/dashboard/billing")).body).toContain("Only owners of this account can change this.");
  }
  expect((await owner.post("/dashboard/billing", form)).headers["location"]).toBe("/dashboard/billing");
  const page = (await owner.get("/dashboard/billing")).body;
  expect(page).toContain("Ödeweg 1\n東京都千代田区</textarea");
  expect((await owner.get("/dashboard/settings")).body).toContain("account.billing_changed");

  const name = { provider: "test", providerPaymentId: "cs_test_1" };
  await beginPayment(database, { accountId, amountNanoUsd: 1_234_560_000_000n, ...name });
  await completePayment(database, name);
  const [payment] = await listPayments(database, { accountId, limit: 1 });
  const answer = await owner.get(`/dashboard/billing/receipts/${payment?.id}`);
  expect([answer.statusCode, answer.headers["content-type"]]).toEqual([200, "application/pdf"]);
  expect(answer.headers["content-disposition"]).toContain(`receipt-${payment?.id}.pdf`);
  const text = await textOfPdf(answer.rawPayload);
  for (const words of [...SELLER.addressLines, SELLER.name, "DE999999999", payment?.id ?? "", "1,234.56 USD", "test payment"])
    expect(text).toContain(words);
  for (const words of ["株式会社モデル", "& Söhne ООО Ромашка", "Ödeweg 1", "東京都千代田区", "Tax ID JP 123-456"])
    expect(text).toContain(words);
  const receipt = (await owner.get(`/dashboard/credit/receipts/${payment?.id}`)).body;
  expect(receipt).toContain("Gateway Betriebs GmbH<br />Beispielstraße 1<br />10115 Berlin");
  expect((await owner.get("/dashboard/billing")).body).toContain(`/dashboard/billing/receipts/${payment?.id}`);
});

test("characters that a document cannot show are rejected next to their field", async () => {
  const { owner } = await open();
  const wrong: [Record<string, string>, string][] = [
    [{ name: "" }, "Enter a name."],
    [{ name: "x".repeat(121) }, "Use at most 120 characters."],
    [{ name: "한국 회사" }, "PDF documents cannot show"],
    [{ name: "حساب" }, "PDF documents cannot show"],
    [{ name: "x", address: "ที่อยู่" }, "PDF documents cannot show"],
    [{ name: "x\u202Ey" }, "Remove invisible characters."],
    [{ name: "x", address: "1\n2\n3\n4\n5\n6\n7" }, "Use at most 6 lines."],
    [{ name: "x", taxId: "<script>" }, "Enter a tax ID such as DE123456789"],
  ];
  for (const [form, words] of wrong) {
    const answer = await owner.post("/dashboard/billing", { address: "", taxId: "", ...form });
    expect([words, answer.statusCode, answer.body.includes(words)]).toEqual([words, 400, true]);
  }
});

test("a statement is exact, its balances chain from month to month, and the last one is the balance", async () => {
  const { database } = await postgres.migrated();
  const customer = await seedLedger(database);
  const { accountId } = customer;
  await postCredit(database, { accountId, kind: "grant", amountNanoUsd: 5_000_000_001n, reference: "a", note: "pilot" });
  await postCredit(database, { accountId, kind: "adjust", amountNanoUsd: -3n, reference: "b" });
  await settle(database, [
    settlementOf(customer, { chargeNanoUsd: 123_456_789n }),
    settlementOf(customer, { chargeNanoUsd: 1n, model: "another" }),
  ]);
  const now = await readStatement(database, { accountId, month: MONTH });
  const before = await readStatement(database, { accountId, month: monthBefore(MONTH) });
  expect(now.openingNanoUsd).toBe(before.closingNanoUsd);
  expect(now.closingNanoUsd).toBe((await readBalance(database, accountId)).postedNanoUsd);
  expect(now.credits).toEqual([
    { kind: "adjust", amountNanoUsd: -3n },
    { kind: "grant", amountNanoUsd: 5_000_000_001n },
  ]);
  expect(now.usage.map(({ model, requests, chargeNanoUsd }) => [model, requests, chargeNanoUsd])).toEqual([
    [settlementOf(customer).model, 1, 123_456_789n],
    ["another", 1, 1n],
  ]);
  expect(before).toMatchObject({ openingNanoUsd: 0n, closingNanoUsd: 0n, usage: [], entries: [], entryCount: 0 });
});

test("an earlier month's credit and usage form the next opening balance", async () => {
  const { database } = await postgres.migrated();
  const customer = await seedLedger(database);
  const { accountId } = customer;
  await database.execute(
    `INSERT INTO ledger_entry (account_id, kind, amount_nano_usd, counter_account, reference, created_at)
     VALUES ($1, 'grant', 700, 'promotion', 'old', '2026-02-28T23:59:59.999Z'), ($1, 'grant', 50, 'promotion', 'new', '2026-03-01T00:00:00Z')`,
    [accountId],
  );
  await database.execute(
    `INSERT INTO usage_by_day (account_id, day, key_id, model, requests, input_tokens, cached_input_tokens, cache_write_tokens,
       output_tokens, reasoning_tokens, charge_nano_usd)
     VALUES ($1, '2026-02-28', 'k', 'm', 2, 1, 0, 0, 1, 0, 200), ($1, '2026-03-01', 'k', 'm', 3, 1, 0, 0, 1, 0, 30)`,
    [accountId],
  );
  const read = async (month: string) => {
    const { openingNanoUsd, closingNanoUsd, usageTotal } = await readStatement(database, { accountId, month });
    return [openingNanoUsd, closingNanoUsd, usageTotal.requests];
  };
  expect(await Promise.all(["2026-01", "2026-02", "2026-03", "2026-04"].map(read))).toEqual([
    [0n, 0n, 0],
    [0n, 500n, 2],
    [500n, 520n, 3],
    [520n, 520n, 0],
  ]);
});

test("a statement lists 200 entries, counts all, and numbers its pages", async () => {
  const { database, owner } = await open();
  const { accountId } = owner;
  await database.execute(
    `INSERT INTO ledger_entry (account_id, kind, amount_nano_usd, counter_account, reference, note)
     SELECT $1, 'grant', 1000000001, 'promotion', 'n' || n, 'entry number ' || n || ' 株' FROM generate_series(1, 250) AS n`,
    [accountId],
  );
  const answer = await owner.get(`/dashboard/billing/statements/${MONTH}`);
  const text = await textOfPdf(answer.rawPayload);
  expect(text).toContain("The first 200 of 250 are listed.");
  expect(text).toContain("Grant 250.00000025");
  expect(text).toContain("entry number 200 株");
  expect(text).not.toContain("entry number 201");
  expect(text).toMatch(/Page 2 of 7/);
});

test("every month since the account began has a statement, and no other month", async () => {
  const { database, owner } = await open();
  await database.execute("UPDATE account SET created_at = '2025-01-15' WHERE id = $1", [owner.accountId]);
  const first = (await owner.get("/dashboard/billing")).body;
  const older = /href="([^"]*\?until=[^"]*)">Older statements/.exec(first)?.[1] ?? "";
  const pages = [first, (await owner.get(older)).body];
  for (let page = pages[1] ?? ""; page.includes("Older statements"); page = pages.at(-1) ?? "")
    pages.push((await owner.get(/href="([^"]*\?until=[^"]*)">Older statements/.exec(page)?.[1] ?? "")).body);
  const months = pages.flatMap((page) => page.match(/(?<=statements\/)\d{4}-\d\d/g) ?? []);
  expect(months[0]).toBe(MONTH);
  expect(months.at(-1)).toBe("2025-01");
  expect(new Set(months).size).toBe(months.length);
  for (const [month, status] of [
    ["2025-01", 200],
    ["2024-12", 404],
    ["2999-01", 404],
    ["2025-13", 404],
    ["x", 404],
  ] as const)
    expect([month, (await owner.get(`/dashboard/billing/statements/${month}`)).statusCode]).toEqual([month, status]);
});

test("the saved card is shown by brand and last digits, and removed only by owners", async () => {
  const { database, dashboard, owner } = await open();
  const { accountId } = owner;
  const card = { customerId: "cus_1", cardId: "pm_1", label: "visa ending in 4242" };
  await saveCard(database, { accountId, provider: "test", card, savedAt: new Date() });
  const member = await dashboard.inAccount(accountId, "member");
  const seen = (await member.get("/dashboard/billing")).body;
  expect(seen).toContain("Visa •••• 4242");
  expect(seen).not.toContain("Remove card");
  expect((await owner.get("/dashboard/billing")).body).toContain("Change card");
  const removed = await owner.post("/dashboard/credit/auto-top-up/card/remove", { page: "billing" });
  expect(removed.headers["location"]).toBe("/dashboard/billing");
  expect((await owner.get("/dashboard/billing")).body).toContain("No card saved.");
});

test("programs read and set billing details, and read statements", async () => {
  const { dashboard, owner } = await open();
  const program = await dashboard.program(owner.accountId, owner.personId, "owner");
  const viewer = await dashboard.program(owner.accountId, owner.personId, "viewer");
  expect((await viewer.get("/api/v1/billing/details")).json()).toEqual({ name: "", address: "", tax_id: "" });
  const details = { name: "ACME", address: "Way 1\nTown", tax_id: "DE123456789" };
  expect((await viewer.call("PUT", "/api/v1/billing/details", details)).statusCode).toBe(403);
  expect((await program.call("PUT", "/api/v1/billing/details", details)).json()).toEqual(details);
  const wrong = await program.call("PUT", "/api/v1/billing/details", { ...details, name: "한국" });
  expect([wrong.statusCode, wrong.body.includes("PDF documents cannot show")]).toEqual([400, true]);
  const statement = await viewer.get(`/api/v1/billing/statements/${MONTH}`);
  expect(statement.json()).toMatchObject({ month: MONTH, opening_balance: "0.000000000", usage: [] });
  expect((await viewer.get("/api/v1/billing/statements/2026-13")).statusCode).toBe(400);
});
