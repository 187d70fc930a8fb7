import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { v7 as uuidv7 } from "uuid";
import * as z from "zod";
import { beginPayment } from "../../../ledger/payments/payments.ts";
import { publishModels } from "../../../ledger/models/catalogue.ts";
import { readBalance, findAccount } from "../../../ledger/accounts/accounts.ts";
import { runAdminCommand } from "../../../ledger/admin-command/command.ts";
import { checkLedger } from "../../../ledger/upkeep/check.ts";
import type { Database } from "../../../ledger/postgres/database.ts";
import { createApiKey } from "../../../ledger/keys/keys.ts";
import { expireGrants } from "../../../ledger/credit/grants.ts";
import { startNightly } from "../../../ledger/upkeep/nightly.ts";
import { listAllActions, noteAction } from "../../../ledger/people/audit.ts";
import { settle } from "../../../ledger/settlement/settle.ts";
import { openDashboard, type Client } from "../../support/dashboard/dashboard.ts";
import { eventually } from "../../support/eventually.ts";
import { catalogueModel, PEPPER, PRICE, seedLedger, settlementOf } from "../../support/billing/ledger.ts";
import { captureLog } from "../../support/stacks/log.ts";
import { createPerson } from "../../support/dashboard/people.ts";
import { usePostgres } from "../../support/billing/postgres.ts";

/** The pages of those who run the service, on a real Postgres. */
const postgres = usePostgres();

async function open() {
  const { database } = await postgres.migrated();
  const dashboard = await openDashboard(database);
  const admin = await dashboard.admin();
  const ann = await dashboard.owner("ann@example.com");
  return { ...dashboard, admin, ann, accountId: ann.accountId, path: `/dashboard/admin/accounts/${ann.accountId}` };
}

async function attemptOf(admin: Client, path: string): Promise<string> {
  return /name="attempt" value="([^"]+)"/.exec((await admin.get(path)).body)?.[1] ?? "";
}

/** What a list has that looks so, on all of its pages. */
async function collect(admin: Client, first: string, { link, item }: { link: string; item: RegExp }): Promise<string[]> {
  const found: string[] = [];
  let next: string | undefined = first;
  for (let pages = 0; next !== undefined && pages < 10; pages++) {
    const { body }: { body: string } = await admin.get(next);
    found.push(...(body.match(item) ?? []));
    const [, address]: (string | undefined)[] = new RegExp(`href="([^"]*)">${link}`).exec(body) ?? [];
    next = address?.replaceAll(/&#(\d+);/g, (_entity, code: string) => String.fromCodePoint(Number(code)));
  }
  return found;
}

async function actionsOf(database: Database): Promise<string[]> {
  const actions = await listAllActions(database, { filter: {}, limit: 50 });
  return actions.map(({ by, action, subject, accountId }) => `${by} ${action} ${subject} in ${accountId}`);
}

test("only an administrator sees the admin pages in the navigation", async () => {
  const { admin, ann } = await open();
  expect((await admin.get("/dashboard")).body).toContain('href="/dashboard/admin"');
  expect((await ann.get("/dashboard")).body).not.toContain("/dashboard/admin");
});

test("accounts are found by id, name and member, and listed in pages with balance and usage", async () => {
  const { database, admin } = await open();
  const customer = await seedLedger(database);
  await settle(database, [settlementOf(customer), settlementOf(customer)]);
  const found = await admin.get("/dashboard/admin?search=ACM");
  expect(found.body).toContain("acme");
  expect(found.body).not.toContain("ann-");
  expect(found.body).toMatch(/title="−\$0\.00018"[^]*data-label="Keys" class="number minor">1<[^]*title="\$0\.00018"/);
  expect((await admin.get("/dashboard/admin?search=ann%40example")).body).toContain("ann-");
  expect((await admin.get("/dashboard/admin?search=%25")).body).toContain("No matching accounts");
  expect((await admin.get("/dashboard/admin?search=%00")).statusCode).toBe(200);

  await database.execute(
    `WITH made AS (INSERT INTO account (id, name) SELECT 'many-' || lpad(n::text, 3, '0'), 'many' FROM generate_series(1, 120) AS n RETURNING id)
     INSERT INTO account_balance (account_id) SELECT id FROM made`,
  );
  const seen = await collect(admin, "/dashboard/admin?search=many", { link: "More accounts", item: /accounts\/many-\d+/g });
  expect([seen.length, new Set(seen).size, seen[0], seen.at(-1)]).toEqual([120, 120, "accounts/many-001", "accounts/many-120"]);
});

test("accounts are sorted by last activity, name, spend, balance and age, over pages, with equal ones in order of their IDs", async () => {
  const { database, admin } = await open();
  await database.execute(
    `WITH made AS (INSERT INTO account (id, name, created_at)
       SELECT 'many-' || lpad(n::text, 3, '0'), CASE n WHEN 119 THEN 'Many' WHEN 7 THEN 'many: a.b & 1.' ELSE 'many ' END, now() - n * interval '1 day' FROM generate_series(1, 120) AS n RETURNING id)
     INSERT INTO account_balance (account_id, posted_nano_usd) SELECT id, CASE WHEN id < 'many-061' THEN -5 ELSE 7 END FROM made`,
  );
  await database.execute(
    `INSERT INTO usage_by_day (account_id, day, key_id, model, requests, input_tokens, cached_input_tokens, cache_write_tokens,
       output_tokens, reasoning_tokens, charge_nano_usd)
     VALUES ('many-117', (now() AT TIME ZONE 'UTC')::date, 'k', 'm', 1, 0, 0, 0, 0, 0, 900),
       ('many-003', (now() AT TIME ZONE 'UTC')::date - 29, 'k', 'm', 1, 0, 0, 0, 0, 0, 800),
       ('many-004', (now() AT TIME ZONE 'UTC')::date - 31, 'k', 'm', 1, 0, 0, 0, 0, 0, 99000)`,
  );
  for (const [accountId, secondsAgo] of [
    ["many-090", 2],
    ["many-080", 1],
  ] as const) {
    const { publicId } = await createApiKey(database, { accountId, name: "key", pepper: PEPPER });
    const used = "UPDATE api_key SET last_used_at = now() - $2 * interval '1 second' WHERE public_id = $1";
    await database.execute(used, [publicId, secondsAgo]);
  }
  const sorted = async (sort: string) => {
    const ids = await collect(admin, `/dashboard/admin?search=many&sort=${sort}`, {
      link: "More accounts",
      item: /accounts\/many-\d+/g,
    });
    expect([sort, ids.length, new Set(ids).size]).toEqual([sort, 120, 120]);
    return [...ids.slice(0, 3), ids.at(-1)].map((id) => id?.slice(-3));
  };
  expect(await sorted("active")).toEqual(["080", "090", "001", "120"]);
  expect(await sorted("unknown")).toEqual(["080", "090", "001", "120"]);
  expect(await sorted("name")).toEqual(["119", "001", "002", "007"]);
  expect(await sorted("spend")).toEqual(["117", "003", "001", "120"]);
  expect(await sorted("balance")).toEqual(["061", "062", "063", "060"]);
  expect(await sorted("lowest_balance")).toEqual(["001", "002", "003", "120"]);
  expect(await sorted("newest")).toEqual(["001", "002", "003", "120"]);
  for (const after of ["x.many-001", "99999999999999999999.many-001", "%00.many-001", "many-001"])
    expect((await admin.get(`/dashboard/admin?search=many&after=${after}`)).body).toContain("accounts/many-080");
});

test("an account's page has its usage by model and its payments, a page at a time", async () => {
  const { database, admin } = await open();
  const customer = await seedLedger(database);
  const { accountId } = customer;
  await settle(database, [settlementOf(customer), settlementOf(customer, { model: "another", chargeNanoUsd: 2_500_000_000n })]);
  for (let number = 100; number < 125; number++) {
    const name = { provider: "test", providerPaymentId: `cs_test_${number}` };
    await beginPayment(database, { accountId, amountNanoUsd: 20_000_000_000n, ...name });
  }
  const path = `/dashboard/admin/accounts/${accountId}`;
  expect((await admin.get(path)).body).toMatch(/title="another"[^]*\$2\.50[^]*Total/);
  const payments = await collect(admin, path, { link: "Older payments", item: /title="test: cs_test_\d+"/g });
  expect([payments.length, payments[0], payments.at(-1)]).toEqual([25, 'title="test: cs_test_124"', 'title="test: cs_test_100"']);
});

test("the audit log is filtered by person, action and days, and pages keep the filter", async () => {
  const { database, admin, ann, accountId } = await open();
  const old = uuidv7({ msecs: Date.parse("2026-01-31T23:59:59.999Z") });
  await database.execute(
    "INSERT INTO audit_entry (id, account_id, person_id, action, subject) VALUES ($1, $2, $3, 'key.created', 'an old key')",
    [old, accountId, ann.personId],
  );
  for (let number = 100; number < 250; number++)
    await noteAction(database, { accountId, personId: ann.personId, action: "key.created", subject: `key ${number}` });
  await noteAction(database, { accountId, personId: admin.personId, action: "credit.granted", subject: "by the admin" });
  const seen = async (query: string) => (await admin.get(`/dashboard/admin/audit?${query}`)).body;
  expect(await seen("action=credit")).toContain("by the admin");
  expect(await seen("action=credit")).not.toContain("key 249");
  expect(await seen("person=ROOT%40example.com")).not.toContain("key 249");
  expect(await seen("person=nobody%40example.com")).toContain("No matching actions");
  expect(await seen("from=2026-01-31&to=2026-01-31")).toContain("an old key");
  expect(await seen("from=2026-01-31&to=2026-01-31")).not.toContain("key 249");
  expect(await seen("from=2026-02-01&to=2026-02-02")).toContain("No matching actions");
  expect(await seen("action=credit.granted")).toContain("by the admin");
  expect(await seen("action=credit.refunded")).toContain("No matching actions");
  expect(await seen("action=key.created")).not.toContain("by the admin");
  expect(await seen("person=%00&action=nothing&from=x")).toContain("key 249");
  const first = "/dashboard/admin/audit?person=ann%40example.com&action=key";
  const keys = await collect(admin, first, { link: "Older actions", item: /title="(key \d+|an old key)"/g });
  expect([keys.length, keys[0], keys.at(-1)]).toEqual([151, 'title="key 249"', 'title="an old key"']);
});

test("credit is granted with a reason, once per form, and the account sees it; a grant may expire (S26)", async () => {
  const { database, admin, ann, accountId, path } = await open();
  const attempt = await attemptOf(admin, path);
  const form = { amount: "12.50", reason: "pilot", attempt };
  for (let time = 0; time < 2; time++) expect((await admin.post(`${path}/grant`, form)).headers["location"]).toBe(path);
  expect((await readBalance(database, accountId)).postedNanoUsd).toBe(12_500_000_000n);
  expect((await ann.get("/dashboard/credit")).body).toContain("pilot");

  const ending = { amount: "1", reason: "trial", expires: "2099-12-31", attempt: await attemptOf(admin, path) };
  expect((await admin.post(`${path}/grant`, ending)).statusCode).toBe(303);
  await database.execute("UPDATE expiring_grant SET expires_at = now()");
  expect(await expireGrants(database)).toBe(1);
  expect((await readBalance(database, accountId)).postedNanoUsd).toBe(12_500_000_000n);
  expect(await checkLedger(database)).toEqual([]);
  expect((await actionsOf(database)).filter((line) => line.includes("credit.granted"))).toEqual([
    `root@example.com credit.granted 1.000000000 USD: trial in ${accountId}`,
    `root@example.com credit.granted 12.500000000 USD: pilot in ${accountId}`,
  ]);
});

test("a balance is adjusted in both directions, and form errors are shown next to the field", async () => {
  const { database, admin, accountId, path } = await open();
  for (const amount of ["5", "-1.25"])
    expect(
      (await admin.post(`${path}/adjust`, { amount, reason: "mended", attempt: await attemptOf(admin, path) })).statusCode,
    ).toBe(303);
  expect((await readBalance(database, accountId)).postedNanoUsd).toBe(3_750_000_000n);
  const wrong: [string, Record<string, string>, string][] = [
    ["adjust", { amount: "0", reason: "x" }, "Enter an amount other than zero."],
    ["adjust", { amount: "1e3", reason: "x" }, "or -5.00 to deduct"],
    ["grant", { amount: "-1", reason: "x" }, "Enter an amount in USD, such as 5.00."],
    ["grant", { amount: "0.00", reason: "x" }, "Enter an amount above zero."],
    ["grant", { amount: "1", reason: "" }, "Enter a reason."],
    ["grant", { amount: "1", reason: "x", expires: "2001-01-01" }, "Choose a day in the future."],
    ["grant", { amount: "1", reason: "x", expires: "soon" }, "Choose a day."],
    ["refund", { requestId: randomUUID(), amount: "1e3", reason: "x" }, "Enter an amount in USD, such as 5.00."],
  ];
  for (const [verb, form, words] of wrong) {
    const answer = await admin.post(`${path}/${verb}`, { attempt: await attemptOf(admin, path), ...form });
    expect([words, answer.statusCode, answer.body.includes(words)]).toEqual([words, 400, true]);
  }
  expect((await readBalance(database, accountId)).postedNanoUsd).toBe(3_750_000_000n);
});

test("an account is suspended and reactivated, and each is logged once", async () => {
  const { database, admin, accountId, path } = await open();
  await admin.post(`${path}/suspend`);
  await admin.post(`${path}/suspend`);
  expect((await findAccount(database, accountId))?.status).toBe("suspended");
  expect((await admin.get(path)).body).toContain("Reactivate");
  await admin.post(`${path}/resume`);
  expect((await findAccount(database, accountId))?.status).toBe("active");
  expect((await actionsOf(database)).slice(0, 2)).toEqual([
    `root@example.com account.resumed ${accountId} in ${accountId}`,
    `root@example.com account.suspended ${accountId} in ${accountId}`,
  ]);
});

test("codes are created, their texts shown once; each is for a number of accounts, until it is revoked (S26)", async () => {
  const { database, admin, ann, owner } = await open();
  const form = { count: "3", amount: "2.50", uses: "2", expires: "2099-01-01", reason: "conference", attempt: randomUUID() };
  const made = await admin.post("/dashboard/admin/codes", form);
  const codes = made.body.match(/([2-9A-HJ-NP-Z]{5}-){3}[2-9A-HJ-NP-Z]{5}/g) ?? [];
  expect([made.statusCode, codes.length, new Set(codes).size]).toEqual([200, 3, 3]);
  const [first = "", second = ""] = codes;
  const list = (await admin.get("/dashboard/admin/codes")).body;
  for (const code of codes) expect(list).not.toContain(code);

  const others = [await owner("bob@example.com"), await owner("cid@example.com")];
  const redeem = async (who: Client, code: string) => (await who.post("/dashboard/credit/redeem", { code })).statusCode;
  expect([await redeem(ann, first), await redeem(ann, first)]).toEqual([303, 303]);
  const atOnce = await Promise.all(others.map((who) => redeem(who, first)));
  expect(atOnce.map(String).toSorted()).toEqual(["303", "400"]);
  expect((await readBalance(database, ann.accountId)).postedNanoUsd).toBe(2_500_000_000n);
  const [used] = await database.query({
    text: "SELECT id FROM redeem_code WHERE redeemed_by IS NOT NULL",
    row: z.object({ id: z.string() }),
  });
  expect((await admin.get("/dashboard/admin/codes")).body).toMatch(new RegExp(`${used?.id}[^]*?2 of 2`));

  for (const [, id = ""] of list.matchAll(/codes\/([0-9a-f-]{36})\/revoke/g))
    await admin.post(`/dashboard/admin/codes/${id}/revoke`);
  expect(await redeem(ann, second)).toBe(400);
  // Redeemed credit stays.
  expect(await redeem(ann, first)).toBe(303);
  expect((await admin.post("/dashboard/admin/codes/%00/revoke")).statusCode).toBe(404);
  expect(await checkLedger(database)).toEqual([]);
  const wrong = await admin.post("/dashboard/admin/codes", { ...form, count: "501", uses: "0" });
  expect([wrong.statusCode, wrong.body.includes("At most 500."), wrong.body.includes("above 0")]).toEqual([400, true, true]);
});

test("a form that is sent twice creates its codes once and shows them again; another form or value creates others (S26)", async () => {
  const { database, admin } = await open();
  const form = { count: "2", amount: "1", uses: "1", reason: "conference", attempt: randomUUID() };
  const send = async (changes: Partial<typeof form> = {}) => {
    const { body } = await admin.post("/dashboard/admin/codes", { ...form, ...changes });
    return body.match(/([2-9A-HJ-NP-Z]{5}-){3}[2-9A-HJ-NP-Z]{5}/g) ?? [];
  };
  const [first, second] = await Promise.all([send(), send()]);
  expect(first).toHaveLength(2);
  expect(second).toEqual(first);
  expect(await database.execute("SELECT FROM redeem_code")).toBe(2);
  expect((await actionsOf(database)).filter((action) => action.includes("code.created"))).toHaveLength(1);
  for (const changes of [{ attempt: randomUUID() }, { amount: "2" }, { uses: "2" }, { expires: "2099-01-01" }])
    await send(changes);
  expect(await database.execute("SELECT FROM redeem_code"), "none of them shares a code").toBe(10);
  expect((await admin.post("/dashboard/admin/codes", { ...form, attempt: "" })).statusCode).toBe(400);
});

test("the check finds a redemption without an entry, and an entry without a redemption", async () => {
  const { database, admin, ann, accountId } = await open();
  const made = await admin.post("/dashboard/admin/codes", {
    count: "1",
    amount: "1",
    uses: "5",
    reason: "x",
    attempt: randomUUID(),
  });
  await ann.post("/dashboard/credit/redeem", { code: /([2-9A-HJ-NP-Z]{5}-){3}[2-9A-HJ-NP-Z]{5}/.exec(made.body)?.[0] ?? "" });
  expect(await checkLedger(database)).toEqual([]);
  await database.execute(
    "INSERT INTO redeem_code_use (code_id, account_id) SELECT redeem_code.id, account.id FROM redeem_code, account WHERE account.id <> $1 LIMIT 1",
    [accountId],
  );
  expect(await checkLedger(database)).toMatchObject([{ check: "codes", expected: 1_000_000_000n, found: 0n }]);
});

test("models are shown with their upstreams and all of their prices", async () => {
  const { database, admin } = await open();
  const model = catalogueModel("modelx-v4-pro");
  await publishModels(database, [{ model, price: PRICE }]);
  const later = {
    fromMs: Date.UTC(2027, 0, 1),
    daily: { fromMinute: 60, untilMinute: 330 },
    price: { ...PRICE, outputPicoUsd: 600_000n },
  };
  await publishModels(database, [{ model, price: { ...PRICE, inputPicoUsd: 250_000n }, schedule: [later] }]);
  await publishModels(database, []);
  const { body } = await admin.get("/dashboard/admin/models");
  for (const words of [
    "withdrawn",
    "modelx-v4-pro/main",
    "$0.25",
    "$0.30",
    "current",
    "from 2027-01-01 00:00 UTC, 01:00 to 05:30 UTC",
  ])
    expect(body).toContain(words);
  expect(body.match(/data-label="Price version"/g)).toHaveLength(2);
});

test("a manual check reports that everything adds up, or each difference; last night's is shown next to it", async () => {
  const { database, admin, accountId } = await open();
  const page = "/dashboard/admin/check";
  expect((await admin.get(page)).body).toContain("None yet.");
  expect((await admin.post(page)).headers["location"]).toBe(page);
  await eventually(async () => expect((await admin.get(page)).body).toContain("No differences"), { withinMs: 30_000 });

  await database.execute("UPDATE account_balance SET posted_nano_usd = 7 WHERE account_id = $1", [accountId]);
  await admin.post(page);
  await eventually(async () => expect((await admin.get(page)).body).toContain("1 difference"), { withinMs: 30_000 });
  expect((await admin.get(page)).body).toMatch(new RegExp(`balances[^]*${accountId}[^]*>0<[^]*>7<`));

  expect((await admin.get(page)).body).toContain("None has finished yet.");
  const nightly = startNightly({ database, retentionDays: null, log: captureLog().log, onChecked: () => {} });
  await eventually(async () => expect((await admin.get(page)).body.match(/1 difference/g)).toHaveLength(2), {
    withinMs: 30_000,
  });
  await nightly.stop();
});

test("two checks never run at once", async () => {
  const { database, admin } = await open();
  await database.execute("INSERT INTO ledger_check_run (id) VALUES (gen_random_uuid())");
  await admin.post("/dashboard/admin/check");
  expect(await database.execute("SELECT FROM ledger_check_run")).toBe(1);
  expect((await admin.get("/dashboard/admin/check")).body).toContain("still running");
  await database.execute("UPDATE ledger_check_run SET started_at = now() - interval '2 hours'");
  expect((await admin.get("/dashboard/admin/check")).body).toContain("could not finish");
});

test("the audit log has the actions of all accounts, or of one, in pages", async () => {
  const { database, admin, ann, accountId } = await open();
  await ann.post("/dashboard/keys/new", { name: "k" });
  const all = (await admin.get("/dashboard/admin/audit")).body;
  expect(all).toMatch(/ann@example\.com[^]*Created an API key<[^]*title="k \(\w{12}\)"/);
  expect(all).toContain(">Granted administrator access</span>");
  const one = (await admin.get(`/dashboard/admin/audit?account=${accountId}`)).body;
  expect([one.includes('title="key.created"'), one.includes('title="person.made_admin"')]).toEqual([true, false]);

  const subjects = Array.from({ length: 250 }, (_, index) => `subject ${index}`);
  for (const subject of subjects) await noteAction(database, { accountId, personId: null, action: "key.changed", subject });
  const first = `/dashboard/admin/audit?account=${accountId}`;
  const seen = await collect(admin, first, { link: "Older actions", item: /subject \d+(?=<)/g });
  expect(seen).toEqual(subjects.toReversed());
});

test("ledger/admin-command grants and revokes administrator access", async () => {
  const { database } = await postgres.migrated();
  await createPerson(database, "ada@example.com");
  const lines: string[] = [];
  const run = (...words: string[]) => runAdminCommand(words, { connect: () => database, print: (line) => lines.push(line) });
  await run("grant", "ADA@example.com");
  await run("grant", "ada@example.com");
  await run("revoke", "ada@example.com");
  await run("revoke", "ada@example.com");
  expect(lines).toEqual([
    "ADA@example.com is now an administrator.",
    "ada@example.com is already an administrator.",
    "ada@example.com is no longer an administrator.",
    "ada@example.com is not an administrator.",
  ]);
  await expect(run("grant", "nobody@example.com")).rejects.toThrow("Nobody has signed up as nobody@example.com.");
  expect((await actionsOf(database)).slice(0, 2)).toEqual([
    "null person.unmade_admin ada@example.com in null",
    "null person.made_admin ada@example.com in null",
  ]);
});
