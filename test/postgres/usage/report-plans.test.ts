import { expect, test } from "vitest";
import { loadUsage } from "../../bench/usage/load.ts";
import { explain } from "../../bench/usage/measure.ts";
import { reportsOf } from "../../bench/usage/reports.ts";
import { usePostgres } from "../../support/billing/postgres.ts";

const postgres = usePostgres();

const LAST_DAY = "2026-11-20";

test("no report of an account reads a whole usage table, and a list reads only the days that it shows", async () => {
  const { database, connect } = await postgres.migrated();
  const loading = connect("loading", { statementTimeoutMs: 60_000 });
  await loadUsage({ rows: 200_000, days: 4, lastDay: LAST_DAY, database: loading, workers: 1, log: () => {} });
  const partitionsOf = new Map<string, Set<string>>();
  for (const report of reportsOf(LAST_DAY)) {
    const plans = await explain(report, database);
    expect(plans.length, report.name).toBeGreaterThan(0);
    for (const plan of plans) expect(plan, report.name).not.toMatch(/Seq Scan on (usage|ledger_entry|account_balance)/);
    partitionsOf.set(report.name, new Set(plans.flatMap((plan) => plan.match(/on usage_event_\d+/g) ?? [])));
  }
  const lastDay = `on usage_event_${LAST_DAY.replaceAll("-", "")}`;
  expect(partitionsOf.get("largest account: requests, first page")).toEqual(new Set([lastDay]));
  expect(partitionsOf.get("largest account: requests, one key")).toEqual(new Set([lastDay]));
  for (const name of ["totals", "by key, all days", "by hour, 7 days"])
    expect(partitionsOf.get(`largest account: ${name}`), name).toEqual(new Set());
}, 120_000);
