import { expect, test } from "vitest";
import { createLabelBudget } from "../../../../extproc/labels/label-budget.ts";
import { settlementOf } from "../../../support/billing/ledger.ts";

const customer = { accountId: "acme", keyId: "key" };
const labels = () => [{ dimension: "tag:team", value: "x".repeat(100) }];

test("labels of requests that are not settled occupy a bounded memory; beyond it a request has none (S40)", () => {
  let dropped = 0;
  const budget = createLabelBudget({ maxBytes: 500, onDropped: () => dropped++ });
  const first = budget.take("1", labels());
  const second = budget.take("2", labels());
  expect(first).toHaveLength(1);
  expect(second).toHaveLength(1);
  expect(budget.take("3", labels())).toEqual([]);
  expect(dropped).toBe(1);

  budget.settled([settlementOf(customer, { requestId: "1", labels: first })]);
  expect(budget.take("4", labels())).toHaveLength(1);
  budget.release("2");
  // What another process left in its journal was never counted here.
  budget.settled([
    settlementOf(customer, { labels: labels() }),
    settlementOf(customer),
    settlementOf(customer, { requestId: "1", labels: first }),
  ]);
  expect(budget.bytes).toBe(228);
});

test("requests without labels take nothing", () => {
  const budget = createLabelBudget({ maxBytes: 0, onDropped: () => expect.unreachable() });
  expect(budget.take("1", [])).toEqual([]);
  expect(budget.bytes).toBe(0);
});
