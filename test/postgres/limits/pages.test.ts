import { expect, test } from "vitest";
import { ACCOUNT_BOUNDS } from "../../../contract/account-bounds.ts";
import { readBalance } from "../../../ledger/accounts/accounts.ts";
import { readAccountLimits } from "../../../ledger/leases/account-limits.ts";
import { setKeyLimits } from "../../../ledger/leases/limits.ts";
import { listActions } from "../../../ledger/people/audit.ts";
import { addMember } from "../../../ledger/people/members.ts";
import { settle } from "../../../ledger/settlement/settle.ts";
import { openDashboard } from "../../support/dashboard/dashboard.ts";
import { seedLedger, settlementOf } from "../../support/billing/ledger.ts";
import { usePostgres } from "../../support/billing/postgres.ts";

/** Limits of accounts and refunds, as pages and the management API have them. */
const postgres = usePostgres();

async function open() {
  const { database } = await postgres.migrated();
  const customer = await seedLedger(database);
  const dashboard = await openDashboard(database);
  const root = await dashboard.admin();
  const { accountId } = customer;
  const ann = await dashboard.owner("ann@example.com");
  await addMember(database, { accountId, personId: ann.personId, role: "owner" });
  const owner = await dashboard.signIn(ann.personId, accountId);
  return { ...dashboard, ...customer, owner, root };
}

test("owners limit their account, see its use, and cannot loosen the service's limits", async () => {
  const { database, owner, root, accountId, keyId, inAccount } = await open();
  const admin = `/dashboard/admin/accounts/${accountId}/limits`;
  expect((await root.post(admin, { spendPerMonthUsd: "0.0002", requestsPerMinute: "" })).statusCode).toBe(303);
  expect((await owner.post("/dashboard/limits", { spendPerMonthUsd: "$50", spendPerDayUsd: "10" })).statusCode).toBe(303);
  expect((await readAccountLimits(database, accountId))?.effective).toEqual({ spendPerDayUsd: "10", spendPerMonthUsd: "0.0002" });
  await setKeyLimits(database, keyId, { spendPerDayUsd: "0.01", tokensPerMinute: 5000 });
  await settle(database, [settlementOf({ accountId, keyId })]);

  const { body } = await owner.get("/dashboard/limits");
  expect(body).toContain("Service limit: 0.0002");
  expect(body.match(/aria-label="(\d+)% of the limit"/g)).toEqual([
    'aria-label="0% of the limit"',
    'aria-label="45% of the limit"',
    'aria-label="0% of the limit"',
    'aria-label="0% of the limit"',
  ]);
  expect(body).toContain("Save limits");
  const viewer = await inAccount(accountId, "viewer");
  expect((await viewer.get("/dashboard/limits")).body).not.toContain("Save limits");

  const form = { requestsPerMinute: "many", concurrentRequests: "7", spendPerDayUsd: "12" };
  const wrong = await owner.post("/dashboard/limits", form);
  expect([wrong.statusCode, wrong.body.includes("Enter a whole number from 1 to 1,000,000,000.")]).toEqual([400, true]);
  for (const typed of ["many", "7", "12"]) expect(wrong.body).toContain(`value="${typed}"`);
  const actions = await listActions(database, { accountId, limit: 5 });
  expect(actions.map(({ action, subject }) => [action, subject])).toEqual([
    ["account.limits_changed", "Daily spend (USD): 10, Monthly spend (USD): 50"],
    ["account.service_limits_changed", "Monthly spend (USD): 0.0002"],
  ]);
});

test("the API shows the limits in force with their use, and replaces the owners' limits", async () => {
  const { program, database, owner, accountId, keyId } = await open();
  await settle(database, [settlementOf({ accountId, keyId })]);
  const { call, get } = await program(accountId, owner.personId, "owner");
  const changed = await call("PUT", "/api/v1/limits", { spend_per_day_usd: "1.50", concurrent_requests: 4 });
  expect(changed.json()).toEqual({
    effective: { spend_per_day_usd: "1.50", concurrent_requests: 4 },
    owner: { spend_per_day_usd: "1.50", concurrent_requests: 4 },
    operator: {},
    used: { spend_per_day_usd: "0.000090000", concurrent_requests: 0 },
  });
  expect((await get("/api/v1/limits")).json()).toEqual(changed.json());
  const wrong = await call("PUT", "/api/v1/limits", { spend_per_day_usd: "much" });
  expect([wrong.statusCode, wrong.json().error.field]).toEqual([400, "spend_per_day_usd"]);
});

test("an administrator refunds a request once, at most its charge, with a reason", async () => {
  const { database, root, accountId, keyId } = await open();
  const settlement = settlementOf({ accountId, keyId });
  await settle(database, [settlement]);
  const path = `/dashboard/admin/accounts/${accountId}/refund`;
  const attempt = /name="attempt" value="([^"]+)"/.exec((await root.get(path)).body)?.[1] ?? "";
  const form = { requestId: settlement.requestId, amount: "0.00004", reason: "ticket 7", attempt };
  for (let sent = 0; sent < 2; sent++) expect((await root.post(path, form)).statusCode).toBe(303);
  expect((await readBalance(database, accountId)).postedNanoUsd).toBe(-50_000n);
  const more = await root.post(path, { ...form, attempt: "0199d8a0-0000-4000-8000-000000000001", amount: "1" });
  expect([more.statusCode, more.body.includes("A refund cannot exceed the rest")]).toEqual([400, true]);
  expect((await root.post(path, { ...form, requestId: "none" })).statusCode).toBe(400);
  const actions = await listActions(database, { accountId, limit: 5 });
  expect(actions.map(({ subject }) => subject)).toEqual([`${settlement.requestId}: ticket 7`]);
});

test("a grant submitted again with another amount reports that the first one was posted", async () => {
  const { root, accountId, database } = await open();
  const path = `/dashboard/admin/accounts/${accountId}/grant`;
  const form = { amount: "5", reason: "welcome", attempt: "0199d8a0-0000-4000-8000-000000000009" };
  expect((await root.post(path, form)).statusCode).toBe(303);
  const again = await root.post(path, { ...form, amount: "7" });
  expect([again.statusCode, again.body.includes("This form was already sent with another amount")]).toEqual([400, true]);
  expect((await readBalance(database, accountId)).postedNanoUsd).toBe(5_000_000_000n);
});

test("an owner renames the account; an invalid name is rejected next to its field", async () => {
  const { owner, inAccount, accountId } = await open();
  expect((await owner.post("/dashboard/settings/account", { accountName: "Acme & Sons" })).statusCode).toBe(303);
  expect((await owner.get("/dashboard/settings")).body).toMatch(/Acme &(?:amp|#38); Sons/);
  const wrong = await owner.post("/dashboard/settings/account", { accountName: "visit http://evil.example" });
  expect([wrong.statusCode, wrong.body.includes('id="accountName-problem"')]).toEqual([400, true]);
  const member = await inAccount(accountId, "member");
  expect((await member.post("/dashboard/settings/account", { accountName: "mine" })).statusCode).toBe(403);
});

test("a limit that a newer version set on an account does not break the page, and is not overwritten", async () => {
  const { database, owner, accountId } = await open();
  await database.execute(`UPDATE account SET operator_limits = '{"imagesPerMinute": 5, "requestsPerMinute": 7}' WHERE id = $1`, [
    accountId,
  ]);
  expect((await owner.get("/dashboard/limits")).body).toContain("Service limit: 7");
  const refused = await owner.post("/dashboard/limits", { spendPerDayUsd: "5" });
  expect([refused.statusCode, refused.body.includes("imagesPerMinute")]).toEqual([400, true]);
});

test("owners change limits a bounded number of times per day; the service's operators always can (S40)", async () => {
  const { database, owner, root, program, accountId } = await open();
  const { call } = await program(accountId, owner.personId, "owner");
  const change = () => call("PUT", "/api/v1/limits", { requests_per_minute: 60 });
  await database.execute(
    `INSERT INTO audit_entry (id, account_id, person_id, action, subject)
     SELECT uuidv7(), $1, $2, 'account.limits_changed', 'a subject' FROM generate_series(1, $3::int)`,
    [accountId, owner.personId, ACCOUNT_BOUNDS.limitChangesADay - 1],
  );
  expect((await change()).statusCode).toBe(200);
  const refused = await change();
  expect([refused.statusCode, refused.headers["retry-after"]]).toEqual([429, "3600"]);
  expect(refused.json().error.message).toContain("at most 500 times in 24 hours");
  expect((await owner.post("/dashboard/limits", { requestsPerMinute: "70" })).body).toContain("at most 500 times");
  const admin = `/dashboard/admin/accounts/${accountId}/limits`;
  expect((await root.post(admin, { requestsPerMinute: "5" })).statusCode).toBe(303);
  expect((await readAccountLimits(database, accountId))?.effective).toEqual({ requestsPerMinute: 5 });
});
