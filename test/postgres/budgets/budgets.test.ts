import { Webhook } from "standardwebhooks";
import { expect, test } from "vitest";
import { sendBudgetAlerts } from "../../../dashboard/budgets/watch.ts";
import type { Letter } from "../../../dashboard/mail/letter.ts";
import { deliverEvents } from "../../../dashboard/webhooks/deliver.ts";
import { ACCOUNT_BOUNDS } from "../../../contract/account-bounds.ts";
import { setBudget } from "../../../ledger/budgets/set-budget.ts";
import { noteAction } from "../../../ledger/people/audit.ts";
import { addMember } from "../../../ledger/people/members.ts";
import type { Database } from "../../../ledger/postgres/database.ts";
import { settle } from "../../../ledger/settlement/settle.ts";
import { addEndpoint } from "../../../ledger/webhooks/endpoints.ts";
import { EVENT_TYPES } from "../../../ledger/webhooks/event-types.ts";
import { openDashboard } from "../../support/dashboard/dashboard.ts";
import { PEPPER, seedLedger, settlementOf } from "../../support/billing/ledger.ts";
import { captureLog } from "../../support/stacks/log.ts";
import { usePostgres } from "../../support/billing/postgres.ts";
import { startReceiver } from "../../support/servers/webhook-receiver.ts";

const postgres = usePostgres();
const BASE = "http://gateway.example";

/** An account of Ann's, with a key of Ben's. */
async function open() {
  const { database } = await postgres.migrated();
  const customer = await seedLedger(database);
  const { accountId } = customer;
  const dashboard = await openDashboard(database, { targetNetworks: "any" });
  const [ann, ben] = [await dashboard.owner("ann@example.com"), await dashboard.owner("ben@example.com")];
  await addMember(database, { accountId, personId: ann.personId, role: "owner" });
  await addMember(database, { accountId, personId: ben.personId, role: "member" });
  await noteAction(database, { accountId, personId: ben.personId, action: "key.created", subject: customer.keyId });
  const owner = await dashboard.signIn(ann.personId, accountId);
  const letters: Letter[] = [];
  const { log, lines } = captureLog();
  const round = () =>
    sendBudgetAlerts({
      database,
      publicBaseUrl: BASE,
      log,
      mailer: { outbox: null, send: async (letter) => void letters.push(letter) },
    });
  const deliver = () => deliverEvents({ database, pepper: PEPPER, targetNetworks: "any", log });
  const spend = (nanoUsd: bigint) => settle(database, [settlementOf(customer, { chargeNanoUsd: nanoUsd })]);
  return { ...dashboard, ...customer, database, owner, benId: ben.personId, letters, lines, round, deliver, spend };
}

/** A webhook for all events; its secret. */
async function addWebhook({ database, accountId }: { database: Database; accountId: string }, url: string): Promise<string> {
  const { secret } = await addEndpoint(database, { accountId, url, events: EVENT_TYPES, pepper: PEPPER });
  return secret;
}

test("each threshold is reported once a month: by email to owners, and by an event that the official library verifies (S47)", async () => {
  const world = await open();
  const { accountId, owner, letters, round, deliver, spend } = world;
  const { received, url } = await startReceiver(204);
  const secret = await addWebhook(world, url);
  expect((await owner.post("/dashboard/budgets", { covered: "account", amount: "$100" })).statusCode).toBe(303);

  await spend(49_999_999_999n);
  await round();
  expect(letters).toEqual([]);
  await spend(1n);
  for (let each = 0; each < 2; each++) await Promise.all([round(), round()]);
  expect(letters.map(({ to, subject }) => [to, subject])).toEqual([["ann@example.com", "acme: 50% of the monthly budget used"]]);
  expect(letters[0]?.text).toContain("spent $50.00");
  await spend(60_000_000_000n);
  await round();
  await deliver();
  // 80 and 100 were passed at once: the higher one is reported.
  expect(letters.map(({ subject }) => subject.replace(/\D+/g, " ").trim())).toEqual(["50", "100"]);
  const events = received.map(({ body, headers }) => new Webhook(secret).verify(body, headers));
  expect(events).toEqual([
    expect.objectContaining({ type: "budget.threshold_reached", data: expect.objectContaining({ threshold_percent: 50 }) }),
    {
      type: "budget.threshold_reached",
      version: 1,
      timestamp: expect.stringMatching(/^\d{4}-.*Z$/),
      data: {
        account_id: accountId,
        budget_id: expect.any(String),
        scope: "account",
        key_id: null,
        member_id: null,
        project_id: null,
        end_user: null,
        month: new Date().toISOString().slice(0, 7),
        threshold_percent: 100,
        currency: "USD",
        amount: "100.000000000",
        spent: "110.000000000",
      },
    },
  ]);
  await deliver();
  expect(received).toHaveLength(2);
  expect((await owner.get("/dashboard/budgets")).body).toContain("50%, 80%, 100%");
});

test("a member's budget counts the keys that they created and notifies them, too; a raised budget alerts again", async () => {
  const { database, accountId, benId, letters, round, spend, owner } = await open();
  const covered = { covered: `member:${benId}`, amount: "1" };
  expect((await owner.post("/dashboard/budgets", covered)).statusCode).toBe(303);
  await spend(900_000_000n);
  await round();
  expect(letters.map(({ to }) => to)).toEqual(["ann@example.com", "ben@example.com"]);
  expect(letters[0]?.text).toContain("The API keys that ben@example.com created");
  await owner.post("/dashboard/budgets", { ...covered, amount: "1.5" });
  await round();
  await owner.post("/dashboard/budgets", { ...covered, amount: "1" });
  await round();
  expect(letters.map(({ subject }) => subject)).toEqual(Array.from({ length: 4 }, () => "acme: 80% of the monthly budget used"));
  // The spend of others does not count.
  const other = await seedLedger(database, "other");
  await settle(database, [settlementOf({ accountId, keyId: other.keyId }, { chargeNanoUsd: 5_000_000_000n })]);
  await round();
  expect(letters).toHaveLength(4);
});

test("an email that was not accepted is sent in a later round", async () => {
  const { database, accountId, spend, round, letters } = await open();
  await setBudget(database, { accountId, personId: null }, { scope: "account", amountNanoUsd: 1_000n });
  await spend(1_000n);
  const { log, lines } = captureLog();
  const refuse = async () => {
    throw new Error("the mail server is away");
  };
  await sendBudgetAlerts({ database, publicBaseUrl: BASE, log, mailer: { outbox: null, send: refuse } });
  expect(JSON.stringify(lines)).toContain("the mail server is away");
  await round();
  expect(letters.map(({ subject }) => subject)).toEqual(["acme: 100% of the monthly budget used"]);
});

test("budgets are changed a bounded number of times per day; deleting always works", async () => {
  const { database, accountId, owner, program } = await open();
  const { call } = await program(accountId, owner.personId, "owner");
  const budget = (await call("PUT", "/api/v1/budgets", { scope: "account", amount: "1" })).json();
  await database.execute(
    `INSERT INTO audit_entry (id, account_id, person_id, action, subject)
     SELECT uuidv7(), $1, $2, 'account.budget_set', 'a subject' FROM generate_series(1, $3::int)`,
    [accountId, owner.personId, ACCOUNT_BOUNDS.budgetChangesADay],
  );
  const refused = await call("PUT", "/api/v1/budgets", { scope: "account", amount: "2" });
  expect([refused.statusCode, refused.headers["retry-after"], refused.json().error.message]).toEqual([
    429,
    "3600",
    expect.stringMatching(/at most \d+ times in 24 hours/),
  ]);
  expect((await owner.post("/dashboard/budgets", { covered: "account", amount: "3" })).body).toContain("at most 500 times");
  expect((await call("DELETE", `/api/v1/budgets/${budget.id}`)).statusCode).toBe(204);
});

test("the API sets, lists and deletes budgets, one per scope", async () => {
  const { program, accountId, owner, keyId, benId, spend } = await open();
  const { call, get } = await program(accountId, owner.personId, "owner");
  await spend(600_000_000n);
  const made = await call("PUT", "/api/v1/budgets", { scope: "key", key_id: keyId, amount: "1" });
  expect(made.json()).toMatchObject({ scope: "key", key_id: keyId, amount: "1.000000000", spent_this_month: "0.600000000" });
  const changed = await call("PUT", "/api/v1/budgets", { scope: "key", key_id: keyId, amount: "2.50" });
  expect(changed.json()).toEqual({ ...made.json(), amount: "2.500000000" });
  await call("PUT", "/api/v1/budgets", { scope: "member", member_id: benId, amount: "3" });
  await call("PUT", "/api/v1/budgets", { scope: "account", amount: "9" });
  expect((await get("/api/v1/budgets")).json().data.map(({ scope }: { scope: string }) => scope)).toEqual([
    "account",
    "member",
    "key",
  ]);
  for (const [body, field] of [
    [{ scope: "key", amount: "1" }, "scope"],
    [{ scope: "account", key_id: keyId, amount: "1" }, "scope"],
    [{ scope: "project", key_id: keyId, amount: "1" }, "scope"],
    [{ scope: "account", amount: "0" }, "amount"],
    [{ scope: "key", key_id: "AbCd5678WxYz", amount: "1" }, null],
  ] as const) {
    const answer = await call("PUT", "/api/v1/budgets", body);
    expect([answer.statusCode >= 400 && answer.statusCode < 500, answer.json().error.field]).toEqual([true, field]);
  }
  expect((await call("DELETE", `/api/v1/budgets/${made.json().id}`)).statusCode).toBe(204);
  expect((await call("DELETE", `/api/v1/budgets/${made.json().id}`)).statusCode).toBe(404);
});
