import { expect, test } from "vitest";
import * as z from "zod";
import { END_USER } from "../../../contract/labels.ts";
import { sendBudgetAlerts } from "../../../dashboard/budgets/watch.ts";
import type { Letter } from "../../../dashboard/mail/letter.ts";
import { listBudgets } from "../../../ledger/budgets/budgets.ts";
import { setBudget } from "../../../ledger/budgets/set-budget.ts";
import { eraseLabels, keepLabels } from "../../../ledger/labels/account-labels.ts";
import { dropOldLabels, eraseRequestedLabels } from "../../../ledger/labels/upkeep.ts";
import { addMember } from "../../../ledger/people/members.ts";
import { settle } from "../../../ledger/settlement/settle.ts";
import { addEndpoint } from "../../../ledger/webhooks/endpoints.ts";
import { openDashboard } from "../../support/dashboard/dashboard.ts";
import { PEPPER, seedLedger, settlementOf } from "../../support/billing/ledger.ts";
import { captureLog } from "../../support/stacks/log.ts";
import { usePostgres } from "../../support/billing/postgres.ts";

/** One budget for each end user of an account (S47, docs/decisions/0051). */
const postgres = usePostgres();
const USD = 1_000_000_000n;
const bodyRow = z.strictObject({ body: z.string() });
const eventSchema = z.object({ type: z.literal("budget.threshold_reached"), data: z.record(z.string(), z.unknown()) });
const refuse = async () => {
  throw new Error("the mail server is away");
};

/** An account that keeps end users, with a budget of 10 USD for each. */
async function open() {
  const { database } = await postgres.migrated();
  const customer = await seedLedger(database);
  const { accountId } = customer;
  const dashboard = await openDashboard(database, { targetNetworks: "any" });
  const ann = await dashboard.owner("ann@example.com");
  await addMember(database, { accountId, personId: ann.personId, role: "owner" });
  const owner = await dashboard.signIn(ann.personId, accountId);
  await keepLabels(database, { accountId, isOn: true });
  await setBudget(database, { accountId, personId: null }, { scope: "end_user", amountNanoUsd: 10n * USD });
  await addEndpoint(database, {
    accountId,
    url: "https://hooks.example.com/",
    events: ["budget.threshold_reached"],
    pepper: PEPPER,
  });
  const letters: Letter[] = [];
  const { log } = captureLog();
  const round = (send: (letter: Letter) => Promise<void> = async (letter) => void letters.push(letter)) =>
    sendBudgetAlerts({ database, publicBaseUrl: "http://gateway.example", log, mailer: { outbox: null, send } });
  const spend = (endUser: string, chargeNanoUsd: bigint) =>
    settle(database, [settlementOf(customer, { chargeNanoUsd, labels: [{ dimension: END_USER, value: endUser }] })]);
  /** What each event says, in the order of the end users. */
  const events = async () => {
    const rows = await database.query({
      text: "SELECT body FROM event_delivery ORDER BY body::jsonb #>> '{data,end_user}', id",
      row: bodyRow,
    });
    return rows.map(({ body }) => eventSchema.parse(JSON.parse(body)).data);
  };
  /** As if the last letter had been sent an hour ago. */
  const letAnHourPass = () => database.execute("UPDATE end_user_budget SET mailed_at = mailed_at - interval '1 hour'");
  return { database, accountId, owner, letters, round, spend, events, letAnHourPass };
}

test("each end user's thresholds are reported once: by an event each, and by one letter an hour to owners", async () => {
  const { accountId, owner, letters, round, spend, events, letAnHourPass } = await open();
  await spend("customer-1", 5n * USD - 1n);
  await round();
  expect(letters).toEqual([]);
  await spend("customer-1", 1n);
  await spend("customer-2", 12n * USD);
  for (let each = 0; each < 2; each++) await Promise.all([round(), round()]);
  expect(letters.map(({ to, subject }) => [to, subject])).toEqual([
    ["ann@example.com", "acme: 2 end users reached a threshold of the monthly budget"],
  ]);
  expect(letters[0]?.text).toContain("- customer-2: $12.00, at least 100%\n- customer-1: $5.00, at least 50%\n");
  expect(await events()).toEqual([
    {
      account_id: accountId,
      budget_id: expect.any(String),
      scope: "end_user",
      key_id: null,
      member_id: null,
      project_id: null,
      end_user: "customer-1",
      month: new Date().toISOString().slice(0, 7),
      threshold_percent: 50,
      currency: "USD",
      amount: "10.000000000",
      spent: "5.000000000",
    },
    expect.objectContaining({ end_user: "customer-2", threshold_percent: 100, spent: "12.000000000" }),
  ]);

  await spend("customer-1", 3n * USD);
  await round();
  await spend("customer-1", 2n * USD);
  await round();
  expect(letters, "within the hour").toHaveLength(1);
  await letAnHourPass();
  await round();
  expect(letters.map(({ subject }) => subject).at(-1)).toBe("acme: 1 end user reached a threshold of the monthly budget");
  expect(letters[1]?.text).toContain("- customer-1: $10.00, at least 100%\n\n");
  await letAnHourPass();
  await round();
  expect(letters).toHaveLength(2);

  const page = (await owner.get("/dashboard/budgets")).body;
  expect(page).toContain("Each end user");
  expect(page).toContain("Highest: customer-2");
  expect(page).toContain("50%, 80%, 100%");
});

test("a raised budget alerts again, those who are still above it excepted", async () => {
  const { database, accountId, round, spend, events, letters, letAnHourPass } = await open();
  await spend("small", 5n * USD);
  await spend("large", 50n * USD);
  await round();
  const set = (usd: bigint) =>
    setBudget(database, { accountId, personId: null }, { scope: "end_user", amountNanoUsd: usd * USD });
  await set(20n);
  await round();
  await set(10n);
  await round();
  expect((await events()).map(({ end_user: endUser, threshold_percent: percent }) => [endUser, percent])).toEqual([
    ["large", 100],
    ["small", 50],
    ["small", 50],
  ]);
  await letAnHourPass();
  await round();
  expect(letters[1]?.text).toContain("- small: $5.00, at least 50%\n\n");
});

test("a letter lists the twenty highest, and one that is not accepted is sent in a later round", async () => {
  const { round, spend, letters, events } = await open();
  for (let each = 0; each < 120; each++) await spend(`customer-${each}`, 5n * USD + BigInt(each) * 10_000_000n);
  await round(refuse);
  expect(letters).toEqual([]);
  expect(await events(), "of an account in one round").toHaveLength(100);
  await round();
  expect(letters.map(({ subject }) => subject)).toEqual(["acme: 120 end users reached a threshold of the monthly budget"]);
  const listed = letters[0]?.text.split("\n").filter((line) => line.startsWith("- ")) ?? [];
  expect(listed).toHaveLength(21);
  expect(listed[0]).toBe("- customer-119: $6.19, at least 50%");
  expect(listed.at(-1)).toBe("- and 100 more");
  expect(await events()).toHaveLength(120);
});

test("other accounts, requests without an end user, and those that reports do not distinguish, count for nobody", async () => {
  const { database, accountId, round, events, spend } = await open();
  const other = await seedLedger(database, "other");
  await keepLabels(database, { accountId: other.accountId, isOn: true });
  const labels = [{ dimension: END_USER, value: "customer-1" }];
  await settle(database, [settlementOf(other, { chargeNanoUsd: 100n * USD, labels })]);
  await spend("customer-1", 1n);
  await database.execute("UPDATE usage_by_label SET value = '', charge_nano_usd = $2 WHERE account_id = $1", [
    accountId,
    100n * USD,
  ]);
  await round();
  expect(await events()).toEqual([]);
});

test("only an account that keeps end users can have the budget, and its alerts are erased with them", async () => {
  const { database, accountId, owner, round, spend } = await open();
  await spend("customer-1", 20n * USD);
  await round();
  const recorded = async () =>
    database.query({ text: "SELECT end_user AS body FROM end_user_budget_alert", row: bodyRow }).then((rows) => rows.length);
  expect(await recorded()).toBe(3);
  await dropOldLabels(database, 30);
  expect(await recorded()).toBe(3);
  await eraseLabels(database, accountId);
  await round();
  await eraseRequestedLabels(database);
  expect(await recorded()).toBe(0);
  const refused = await owner.post("/dashboard/budgets", { covered: "end_user", amount: "1" });
  expect(refused.statusCode).toBe(400);
  expect(refused.body).toContain("This account keeps no end users.");
  expect(refused.body).not.toContain('value="end_user"');

  await keepLabels(database, { accountId, isOn: true });
  expect((await owner.get("/dashboard/budgets")).body).toContain('value="end_user"');
  const [budget] = await listBudgets(database, accountId);
  expect(budget).toMatchObject({ scope: "end_user", covers: null, amountNanoUsd: 10n * USD, spentNanoUsd: 0n, reached: [] });
  expect((await owner.post(`/dashboard/budgets/${budget?.id}/delete`)).statusCode).toBe(303);
  expect(await listBudgets(database, accountId)).toEqual([]);
});
