import { v7 as uuidv7 } from "uuid";
import { expect, test } from "vitest";
import { usageByModelAndDay } from "../../ledger/reports.ts";
import { settle, type Settlement } from "../../ledger/settle.ts";
import { createCustomer, seedLedger, settlementOf, type Customer } from "../support/ledger.ts";
import { usePostgres } from "../support/postgres.ts";

const postgres = usePostgres();

test("a key's usage is summed by UTC day and model, both ends included (S29)", async () => {
  const { database } = await postgres.migrated();
  const customer = await seedLedger(database);
  const other = await createCustomer(database, "other");
  const cached = { inputTokens: 1, cachedInputTokens: 2, cacheWriteTokens: 3, outputTokens: 4, reasoningTokens: 5 };
  await settle(database, [
    at("2026-11-19T23:59:59.999Z", customer),
    at("2026-11-20T00:00:00.000Z", customer),
    at("2026-11-20T23:59:59.999Z", customer, { usage: cached, chargeNanoUsd: 7n }),
    at("2026-11-21T12:00:00.000Z", customer, { model: "modelx-chat" }),
    at("2026-11-21T12:00:00.000Z", customer),
    at("2026-11-21T12:00:00.000Z", other),
    at("2026-11-22T00:00:00.000Z", customer),
  ]);
  const row = {
    model: "modelx-v4-pro",
    requests: 1,
    inputTokens: 100,
    cachedInputTokens: 0,
    cacheWriteTokens: 0,
    outputTokens: 50,
    reasoningTokens: 10,
    chargeNanoUsd: 90_000n,
  };
  expect(await usageByModelAndDay(database, { keyId: customer.keyId, fromDay: "2026-11-20", toDay: "2026-11-21" })).toEqual([
    {
      day: "2026-11-20",
      model: "modelx-v4-pro",
      requests: 2,
      inputTokens: 101,
      cachedInputTokens: 2,
      cacheWriteTokens: 3,
      outputTokens: 54,
      reasoningTokens: 15,
      chargeNanoUsd: 90_007n,
    },
    { ...row, day: "2026-11-21", model: "modelx-chat" },
    { ...row, day: "2026-11-21" },
  ]);
});

test("a range without usage, or without partitions, is empty", async () => {
  const { database } = await postgres.migrated();
  const { keyId } = await seedLedger(database);
  expect(await usageByModelAndDay(database, { keyId, fromDay: "2001-01-01", toDay: "2001-12-31" })).toEqual([]);
});

function at(moment: string, customer: Customer, changes: Partial<Settlement> = {}): Settlement {
  return settlementOf(customer, { requestId: uuidv7({ msecs: Date.parse(moment) }), ...changes });
}
