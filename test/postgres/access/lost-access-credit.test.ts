import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { createTestProvider } from "../../../dashboard/payments/test-provider.ts";
import { readBalance } from "../../../ledger/accounts/accounts.ts";
import { createRedeemCode } from "../../../ledger/credit/codes.ts";
import { listPayments } from "../../../ledger/payments/payments.ts";
import { findSavedCard, saveCard } from "../../../ledger/payments/saved-cards.ts";
import { removeMember } from "../../../ledger/people/members.ts";
import { expectToWait, hold } from "../../support/billing/held-rows.ts";
import { PEPPER } from "../../support/billing/ledger.ts";
import { usePostgres } from "../../support/billing/postgres.ts";
import { openDashboard, type Client, type SignedIn } from "../../support/dashboard/dashboard.ts";
import { eventually } from "../../support/eventually.ts";

/** Whoever loses access while they wait for the account neither adds credit to it nor removes its card (S56). */
const postgres = usePostgres();

const CARD = { customerId: "cus_1", cardId: "pm_1", label: "visa ending in 4242" };

async function open() {
  const { database, connect } = await postgres.migrated();
  const forgotten: string[] = [];
  const meanwhile: { run(): Promise<void> } = { run: async () => undefined };
  const provider = createTestProvider({ secret: "secret", publicBaseUrl: "http://gateway.example" });
  const payments = {
    ...provider,
    forgetCard: async ({ cardId }: { cardId: string }) => {
      await meanwhile.run();
      forgotten.push(cardId);
    },
  };
  const dashboard = await openDashboard(database, { payments });
  const { accountId } = await dashboard.owner("ann@example.com");
  const bob = await dashboard.inAccount(accountId, "owner");
  await database.execute("UPDATE person SET email_verified_at = now() WHERE id = $1", [bob.personId]);
  const program = await dashboard.program(accountId, bob.personId, "owner");
  await saveCard(database, { accountId, provider: "test", card: CARD, savedAt: new Date() });
  const { code } = await createRedeemCode(database, { amountNanoUsd: 1n, pepper: PEPPER });
  return { database, holder: connect("holder"), accountId, bob, program, code, forgotten, meanwhile };
}

const ACTIONS = [
  ["pay", ({ bob }) => bob.post("/dashboard/credit/top-up", { amount: "20", attempt: randomUUID() })],
  ["redeem a code", ({ bob, code }) => bob.post("/dashboard/credit/redeem", { code })],
  ["redeem a code in the API", ({ program, code }) => program.call("POST", "/api/v1/credit/redeem", { code })],
  ["remove the card", ({ bob }) => bob.post("/dashboard/credit/auto-top-up/card/remove")],
] as const satisfies readonly (readonly [
  string,
  (by: { bob: SignedIn; program: Client; code: string }) => Promise<{ statusCode: number }>,
])[];

test.for(ACTIONS)("whoever is removed while they wait to %s does not (S56)", async ([, send]) => {
  const { database, holder, accountId, forgotten, ...by } = await open();
  const { personId } = by.bob;
  const release = await hold(holder, "SELECT FROM account WHERE id = $1 FOR NO KEY UPDATE", [accountId]);
  const removed = database.transaction((transaction) => removeMember(transaction, { accountId, personId }));
  await eventually(() => expectToWait(holder, 1));
  const sent = send(by);
  await eventually(() => expectToWait(holder, 2));
  await release();
  await removed;
  expect((await sent).statusCode).toBeGreaterThanOrEqual(400);
  expect((await readBalance(database, accountId)).postedNanoUsd).toBe(0n);
  expect(await listPayments(database, { accountId, limit: 10 })).toEqual([]);
  expect(await database.execute("SELECT FROM redeem_code_use")).toBe(0);
  expect(await findSavedCard(database, { accountId, provider: "test" })).toEqual(CARD);
  expect(forgotten).toEqual([]);
  expect(await database.execute("SELECT FROM audit_entry WHERE account_id = $1", [accountId])).toBe(0);
});

test("a card that is saved while another one is removed stays, and is not said to be removed", async () => {
  const { database, accountId, bob, forgotten, meanwhile } = await open();
  const card = { ...CARD, cardId: "pm_2" };
  meanwhile.run = async () => {
    await saveCard(database, { accountId, provider: "test", card, savedAt: new Date() });
  };
  await bob.post("/dashboard/credit/auto-top-up/card/remove");
  expect(await findSavedCard(database, { accountId, provider: "test" })).toEqual(card);
  expect(forgotten).toEqual([CARD.cardId]);
  expect(await database.execute("SELECT FROM audit_entry WHERE action = 'credit.card_removed'")).toBe(0);
});
