import { expect, test } from "vitest";
import { daysBefore } from "../../../contract/days.ts";
import { listBudgets } from "../../../ledger/budgets/budgets.ts";
import { usageByMember } from "../../../ledger/usage/member-series.ts";
import { usageByKey, type KeyUsagePosition } from "../../../ledger/usage/reports.ts";
import { explainQueries } from "../../support/billing/explained-queries.ts";
import { seedLedger } from "../../support/billing/ledger.ts";
import { usePostgres } from "../../support/billing/postgres.ts";

/** Reports of an account all of whose many keys are used every day. */
const postgres = usePostgres();
const DAYS = 10;
const LAST_DAY = "2026-11-20";

async function open() {
  const { database } = await postgres.migrated();
  const { accountId } = await seedLedger(database);
  await database.execute(
    `INSERT INTO api_key (public_id, account_id, name, secret_hash)
     SELECT 'many' || lpad(number::text, 8, '0'), $1, 'key ' || number, sha256(number::text::bytea) FROM generate_series(1, 300) AS number`,
    [accountId],
  );
  await database.execute(
    `INSERT INTO usage_by_day (account_id, day, key_id, model, requests, input_tokens, cached_input_tokens, cache_write_tokens,
       output_tokens, reasoning_tokens, charge_nano_usd)
     SELECT account_id, $1::date - back, public_id, 'modelx', 1, 1, 0, 0, 1, 0, 1 FROM api_key CROSS JOIN generate_series(0, ${DAYS - 1}) AS back
     WHERE name LIKE 'key %'`,
    [LAST_DAY],
  );
  await database.execute("ANALYZE");
  return { database, accountId };
}

test("usage by member and day is added up once, not kept by key and day to be added up again", async () => {
  const { database, accountId } = await open();
  const query = { accountId, fromDay: daysBefore(LAST_DAY, DAYS - 1), toDay: LAST_DAY, step: "day", most: 10 } as const;
  const days = await usageByMember(database, query);
  expect(days.map(({ personId, requests }) => ({ personId, requests }))).toEqual(
    Array.from({ length: DAYS }, () => ({ personId: "", requests: 300 })),
  );
  const explained = explainQueries(database);
  await usageByMember(explained.database, query);
  const plan = explained.plans.join("\n");
  const kept = [...plan.matchAll(/CTE Scan on used .*actual .*rows=(\d+)/g)].map(([, rows]) => Number(rows));
  expect(kept.length, plan).toBeGreaterThan(0);
  for (const rows of kept) expect(rows, plan).toBe(DAYS);
});

test("usage by key adds up everything only for the keys of a page, and pages through all of them, highest charge first", async () => {
  const { database, accountId } = await open();
  // Many have the same charge.
  await database.execute(
    "UPDATE usage_by_day SET charge_nano_usd = right(key_id, 1)::bigint, requests = right(key_id, 3)::bigint",
  );
  const query = { accountId, fromDay: daysBefore(LAST_DAY, DAYS - 1), toDay: LAST_DAY, limit: 70 };
  const listed: object[] = [];
  let after: KeyUsagePosition | null | undefined;
  while (after !== null) {
    const { keys, next } = await usageByKey(database, { ...query, after });
    listed.push(...keys.map(({ keyId, requests, chargeNanoUsd }) => ({ keyId, requests, chargeNanoUsd })));
    after = next;
  }
  const expected = Array.from({ length: 300 }, (_, index) => index + 1)
    .toSorted((one, other) => (other % 10) - (one % 10) || one - other)
    .map((number) => ({
      keyId: `many${String(number).padStart(8, "0")}`,
      requests: number * DAYS,
      chargeNanoUsd: BigInt((number % 10) * DAYS),
    }));
  expect(listed).toEqual(expected);

  const explained = explainQueries(database);
  await usageByKey(explained.database, query);
  const plan = explained.plans.join("\n");
  expect(plan).toMatch(/Aggregate .*actual .*rows=1(?:\.00)? loops=71\b/);
});

test("the budgets of an account that has none are listed without reading its usage", async () => {
  const { database, accountId } = await open();
  const explained = explainQueries(database);
  await listBudgets(explained.database, accountId);
  const read = explained.plans.filter((line) => /Scan .*usage_by_day/.test(line));
  expect(read.length).toBeGreaterThan(0);
  for (const line of read) expect(line).toContain("never executed");
});
