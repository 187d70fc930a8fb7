import { expect, test } from "vitest";
import { createPayments } from "../../../dashboard/payments/payments.ts";
import { postCredit } from "../../../ledger/credit/entries.ts";
import { openDashboard } from "../../support/dashboard/dashboard.ts";
import { PEPPER } from "../../support/billing/ledger.ts";
import { usePostgres } from "../../support/billing/postgres.ts";

/** Steps of the overview before the first request. */
const postgres = usePostgres();
const NEXT = {
  credit: 'class="button primary" href="/dashboard/credit/top-up"',
  key: 'class="button primary" href="/dashboard/keys/new"',
};

async function open(hasPayments: boolean) {
  const { database } = await postgres.migrated();
  const payments = await createPayments(
    { provider: hasPayments ? "test" : "none" },
    { publicBaseUrl: "http://gateway.example", pepper: PEPPER },
  );
  const ann = await (await openDashboard(database, { payments })).owner("ann@example.com");
  const stepsThatStandOut = async () => {
    const { body } = await ann.get("/dashboard");
    expect(body).toContain("Get started");
    return Object.entries(NEXT).flatMap(([step, button]) => (body.includes(button) ? [step] : []));
  };
  return { ann, database, stepsThatStandOut };
}

test("one step of a new customer stands out: credit, and then a key", async () => {
  const { ann, database, stepsThatStandOut } = await open(true);
  expect(await stepsThatStandOut()).toEqual(["credit"]);
  await postCredit(database, { accountId: ann.accountId, kind: "grant", amountNanoUsd: 1_000_000_000n, reference: "first" });
  expect(await stepsThatStandOut()).toEqual(["key"]);
  await ann.post("/dashboard/keys/new", { name: "laptop" });
  expect(await stepsThatStandOut()).toEqual([]);
});

test("a key stands out where nobody can pay", async () => {
  const { stepsThatStandOut } = await open(false);
  expect(await stepsThatStandOut()).toEqual(["key"]);
});
