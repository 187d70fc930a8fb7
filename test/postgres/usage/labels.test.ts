import { v7 as uuidv7 } from "uuid";
import { expect, test } from "vitest";
import * as z from "zod";
import { DAY_MS, dayOf } from "../../../contract/days.ts";
import { END_USER, LABEL_BOUNDS, tagDimension, type Label } from "../../../contract/labels.ts";
import { closeAccount } from "../../../ledger/accounts/close-account.ts";
import { createApiKey } from "../../../ledger/keys/keys.ts";
import { eraseLabels, keepLabels, readAccountLabels } from "../../../ledger/labels/account-labels.ts";
import { dropOldLabels, eraseRequestedLabels } from "../../../ledger/labels/upkeep.ts";
import type { Database } from "../../../ledger/postgres/database.ts";
import { readAccountPage } from "../../../ledger/feed/pages.ts";
import { settle } from "../../../ledger/settlement/settle.ts";
import { createSettler } from "../../../ledger/settlement/settler.ts";
import type { Settlement } from "../../../ledger/settlement/settlement.ts";
import { checkLedger } from "../../../ledger/upkeep/check.ts";
import {
  labelDays,
  labelHours,
  labelUsageByModelAndDay,
  listTagNames,
  usageByLabel,
  usageWithLabel,
} from "../../../ledger/usage/label-reports.ts";
import { listRequests, readRequest, type RequestListing, type RequestPosition } from "../../../ledger/usage/request-list.ts";
import { readLabelsOf } from "../../../ledger/usage/request-labels.ts";
import {
  countRows,
  createCustomer,
  PEPPER,
  seedLedger,
  settlementOf,
  wrongBalances,
  type Customer,
} from "../../support/billing/ledger.ts";
import { usePostgres } from "../../support/billing/postgres.ts";

const postgres = usePostgres();

const TODAY = "2026-11-20";
const NOON_MS = Date.parse(`${TODAY}T12:00:00.000Z`);
const RANGE = { fromDay: "2026-11-01", toDay: "2026-11-30" };
const TEAM = tagDimension("team");

const tags = (values: Record<string, string>): Label[] =>
  Object.entries(values).map(([name, value]) => ({ dimension: tagDimension(name), value }));
const user = (value: string): Label => ({ dimension: END_USER, value });

async function seed(): Promise<{ database: Database; customer: Customer }> {
  const { database } = await postgres.migrated();
  const customer = await seedLedger(database);
  await keepLabels(database, { accountId: "acme", isOn: true });
  return { database, customer };
}

function at(ms: number, customer: Customer, changes: Partial<Settlement> = {}): Settlement {
  return settlementOf(customer, { requestId: uuidv7({ msecs: ms }), startedAt: new Date(ms), ...changes });
}

const countLabels = (database: Database) => countRows(database, "usage_label");

test("usage is added up by tag and end user, once however often it is settled (S47)", async () => {
  const { database, customer } = await seed();
  const batch = [
    at(NOON_MS, customer, { labels: [...tags({ team: "search", env: "prod" }), user("u-1")] }),
    at(NOON_MS + 1, customer, { labels: [...tags({ team: "search" }), user("u-2")], model: "modelx-v4-flash" }),
    at(NOON_MS + DAY_MS, customer, { labels: tags({ team: "ads" }), chargeNanoUsd: 7n }),
    at(NOON_MS + 2, customer),
  ];
  await settle(database, batch);
  expect((await settle(database, batch)).settled).toBe(0);

  const scope = { accountId: "acme", ...RANGE };
  expect(await listTagNames(database, "acme")).toEqual(["env", "team"]);
  const { values, next } = await usageByLabel(database, { ...scope, dimension: TEAM, limit: 10 });
  expect(next).toBeNull();
  expect(values).toMatchObject([
    { value: "search", requests: 2, inputTokens: 200, chargeNanoUsd: 180_000n },
    { value: "ads", requests: 1, chargeNanoUsd: 7n },
  ]);
  expect(await usageWithLabel(database, { ...scope, dimension: TEAM })).toMatchObject({ requests: 3, chargeNanoUsd: 180_007n });
  expect(await usageByLabel(database, { ...scope, dimension: END_USER, limit: 10, model: "modelx-v4-flash" })).toMatchObject({
    values: [{ value: "u-2", requests: 1 }],
  });
  expect(await usageByLabel(database, { ...scope, keyId: "none", dimension: TEAM, limit: 10 })).toEqual({
    values: [],
    next: null,
  });
  expect(await usageWithLabel(database, { ...scope, dimension: tagDimension("none") })).toBeUndefined();
  expect(await labelDays(database, { ...scope, dimension: TEAM, shown: ["search", "ads"] })).toMatchObject([
    { day: TODAY, value: "search", requests: 2 },
    { day: "2026-11-21", value: "ads", requests: 1 },
  ]);
  expect(await labelHours(database, { ...scope, dimension: TEAM, shown: ["search", "ads"] })).toMatchObject([
    { hour: `${TODAY}T12:00`, value: "search", requests: 2, inputTokens: 200, chargeNanoUsd: 180_000n },
    { hour: "2026-11-21T12:00", value: "ads", requests: 1, chargeNanoUsd: 7n },
  ]);
  expect(await labelUsageByModelAndDay(database, { ...scope, dimension: TEAM, value: "search" })).toMatchObject([
    { day: TODAY, model: "modelx-v4-flash", requests: 1 },
    { day: TODAY, model: "modelx-v4-pro", requests: 1 },
  ]);
  expect(await checkLedger(database)).toEqual([]);
});

test("pages of values go on where the one before ended, values of equal spend too", async () => {
  const { database, customer } = await seed();
  await settle(
    database,
    Array.from({ length: 25 }, (_, number) =>
      at(NOON_MS + number, customer, { labels: [user(`u-${number}`)], chargeNanoUsd: BigInt(number % 3) }),
    ),
  );
  const found: string[] = [];
  let after: { value: string; chargeNanoUsd: bigint } | undefined;
  do {
    const page = await usageByLabel(database, { accountId: "acme", ...RANGE, dimension: END_USER, limit: 4, after });
    found.push(...page.values.map(({ value }) => value));
    after = page.next ?? undefined;
  } while (after !== undefined);
  expect(found.toSorted()).toEqual(Array.from({ length: 25 }, (_, number) => `u-${number}`).toSorted());
});

test("an account that has not turned them on keeps none, whatever a process sends (S47)", async () => {
  const { database } = await postgres.migrated();
  const customer = await seedLedger(database);
  await settle(database, [at(NOON_MS, customer, { labels: tags({ team: "search" }) })]);
  expect(await countLabels(database)).toBe(0n);
  expect(await countRows(database, "usage_by_label")).toBe(0n);
  expect(await countRows(database, "usage_event")).toBe(1n);
  expect(await readAccountLabels(database, "acme")).toEqual({ keeping: "off", hasSome: false });
});

test("processes hear of the choice with the account's next change", async () => {
  const { database } = await seed();
  await createCustomer(database, "other");
  const { accounts } = await readAccountPage(database, { afterId: "" });
  expect(accounts.map(({ accountId, keepsLabels }) => [accountId, keepsLabels])).toEqual([
    ["acme", true],
    ["other", false],
  ]);
});

test("beyond a day's bound values are added up as other, and their requests are still found (S47)", async () => {
  const { database, customer } = await seed();
  const count = LABEL_BOUNDS.valuesADay + 20;
  const many = Array.from({ length: count }, (_, number) => {
    const name = String(number).padStart(5, "0");
    return at(NOON_MS + number, customer, { labels: [...tags({ job: `j-${name}` }), user(`u-${name}`)] });
  });
  for (let start = 0; start < count; start += 500) await settle(database, many.slice(start, start + 500));
  // Known values are distinguished until the end of the day; new names of tags are not.
  const known = at(NOON_MS + count, customer, { labels: [...tags({ job: "j-00003", late: "x" }), user("u-00003")] });
  await settle(database, [known]);

  const scope = { accountId: "acme", ...RANGE };
  for (const dimension of [END_USER, tagDimension("job")]) {
    const rows = await database.query({
      text: "SELECT value, requests FROM usage_by_label WHERE account_id = 'acme' AND dimension = $1",
      values: [dimension],
      row: z.strictObject({ value: z.string(), requests: z.bigint() }),
    });
    expect(rows).toHaveLength(LABEL_BOUNDS.valuesADay + 1);
    expect(rows.find(({ value }) => value === "")).toEqual({ value: "", requests: 20n });
    expect(rows.filter(({ requests }) => requests === 2n)).toHaveLength(1);
    expect(await usageWithLabel(database, { ...scope, dimension })).toMatchObject({ requests: count + 1 });
  }
  expect(await listTagNames(database, "acme")).toEqual(["job"]);
  const last = many.at(-1);
  for (const label of last?.labels ?? []) expect(await ids(database, { labels: [label] })).toEqual([last?.requestId]);
  expect(await ids(database, { labels: tags({ late: "x" }) })).toEqual([known.requestId]);
  // Another day has its own.
  await settle(database, [at(NOON_MS + DAY_MS, customer, { labels: tags({ late: "x" }) })]);
  expect(await listTagNames(database, "acme")).toEqual(["job", "late"]);
});

async function ids(database: Database, listing: Partial<RequestListing>): Promise<string[]> {
  const found: string[] = [];
  let after: RequestPosition | null | undefined;
  while (after !== null) {
    const page = await listRequests(database, {
      accountId: "acme",
      from: new Date(RANGE.fromDay),
      to: new Date("2026-12-01"),
      limit: 7,
      ...listing,
      ...(after === undefined ? {} : { after }),
    });
    found.push(...page.requests.map(({ requestId }) => requestId));
    after = page.next;
  }
  return found;
}

test("requests are found by tag, by end user and by both, beside all other filters, newest first (S47)", async () => {
  const { database, customer } = await seed();
  const other = await createCustomer(database, "other");
  await keepLabels(database, { accountId: "other", isOn: true });
  const second = await createApiKey(database, { accountId: "acme", name: "second", pepper: PEPPER });
  const all = Array.from({ length: 90 }, (_, number) =>
    at(NOON_MS + number * 1_000 * 3_600, customer, {
      keyId: number % 5 === 0 ? second.publicId : customer.keyId,
      model: number % 3 === 0 ? "modelx-v4-flash" : "modelx-v4-pro",
      outcome: number % 7 === 0 ? "failed" : "complete",
      labels: [...tags({ team: number % 2 === 0 ? "search" : "ads", run: String(number % 10) }), user(`u-${number % 4}`)],
    }),
  );
  await settle(database, [...all, at(NOON_MS, other, { labels: tags({ team: "search" }) })]);
  const newestFirst = all.toReversed();
  const has = (settlement: Settlement, label: Label) =>
    settlement.labels?.some(({ dimension, value }) => dimension === label.dimension && value === label.value) ?? false;
  const filters: [Partial<RequestListing>, (settlement: Settlement) => boolean][] = [
    [{}, () => true],
    [{ keyIds: [second.publicId] }, ({ keyId }) => keyId === second.publicId],
    [{ model: "modelx-v4-flash" }, ({ model }) => model === "modelx-v4-flash"],
    [{ outcome: "failed" }, ({ outcome }) => outcome === "failed"],
    [
      { outcome: "complete", model: "modelx-v4-pro" },
      ({ outcome, model }) => outcome === "complete" && model === "modelx-v4-pro",
    ],
  ];
  const labels = [tags({ team: "search" }), [user("u-3")], [...tags({ run: "4" }), user("u-2")], tags({ team: "none" })];
  for (const wanted of labels)
    for (const [filter, isWanted] of filters) {
      const expected = newestFirst.filter(
        (settlement) => isWanted(settlement) && wanted.every((label) => has(settlement, label)),
      );
      expect(await ids(database, { ...filter, labels: wanted })).toEqual(expected.map(({ requestId }) => requestId));
    }
  const [found] = await readLabelsOf(
    database,
    "acme",
    await readRequest(database, { accountId: "acme", requestId: all[4]?.requestId ?? "" }),
  );
  expect(found?.labels).toEqual([user("u-0"), { dimension: "tag:run", value: "4" }, { dimension: "tag:team", value: "search" }]);
});

test("what Postgres does not take as a label is charged without it (S28)", async () => {
  const { database, customer } = await seed();
  const settlements = [
    at(NOON_MS, customer, { labels: tags({ team: "a\0b" }) }),
    at(NOON_MS + 1, customer, { labels: tags({ team: "good" }) }),
  ];
  const landed: Settlement[] = [];
  const settler = createSettler({ database, flushMs: 1, onSettled: (_result, batch) => landed.push(...batch) });
  for (const settlement of settlements) settler.add(settlement);
  await settler.drain(5_000);
  expect(landed.map(({ requestId }) => requestId).toSorted()).toEqual(settlements.map(({ requestId }) => requestId));
  expect(settler.refused).toBe(0);
  expect(settler.pendingNanoUsd("acme")).toBe(0n);
  expect(await countRows(database, "ledger_entry")).toBe(2n);
  expect(await countLabels(database)).toBe(1n);
  expect(await wrongBalances(database)).toEqual([]);
});

test("all that was kept is deleted when an owner asks, and books stay (S47)", async () => {
  const { database, customer } = await seed();
  const other = await createCustomer(database, "other");
  await keepLabels(database, { accountId: "other", isOn: true });
  const labels = [...tags({ team: "search" }), user("u-1")];
  await settle(database, [
    at(NOON_MS, customer, { labels }),
    at(NOON_MS + DAY_MS, customer, { labels }),
    at(NOON_MS, other, { labels }),
  ]);
  await eraseLabels(database, "acme");
  expect(await readAccountLabels(database, "acme")).toEqual({ keeping: "erasing", hasSome: true });
  await expect(keepLabels(database, { accountId: "acme", isOn: true })).rejects.toThrow("are being deleted");
  // A process that has not heard of it yet.
  await settle(database, [at(NOON_MS + 5, customer, { labels })]);
  await eraseRequestedLabels(database);

  expect(await readAccountLabels(database, "acme")).toEqual({ keeping: "off", hasSome: false });
  for (const table of ["usage_label", "usage_by_label", "usage_by_label_and_key", "label_value"])
    expect(
      await database.query({ text: `SELECT DISTINCT account_id AS id FROM ${table}`, row: z.strictObject({ id: z.string() }) }),
    ).toEqual([{ id: "other" }]);
  expect(await countRows(database, "usage_event")).toBe(4n);
  expect(await wrongBalances(database)).toEqual([]);
});

test("a closed account keeps no tags and end users", async () => {
  const { database, customer } = await seed();
  await settle(database, [at(NOON_MS, customer, { labels: [user("u-1")] })]);
  await closeAccount(database, { accountId: "acme", personId: null });
  await eraseRequestedLabels(database);
  expect(await countLabels(database)).toBe(0n);
});

test("labels go when they are too old, with usage or after 400 days (S47)", async () => {
  const { database, customer } = await seed();
  const now = Date.now();
  const labels = [...tags({ team: "search" }), user("u-1")];
  await settle(
    database,
    [0, 10, 100, 500].map((days) => at(now - days * DAY_MS, customer, { labels })),
  );
  const days = async () => {
    const rows = await database.query({
      text: "SELECT DISTINCT day::text AS day FROM usage_by_label UNION SELECT DISTINCT day::text FROM usage_label ORDER BY 1",
      row: z.strictObject({ day: z.string() }),
    });
    return rows.map(({ day }) => day);
  };
  await dropOldLabels(database, null);
  expect(await days()).toEqual([100, 10, 0].map((ago) => dayOf(now - ago * DAY_MS)));
  await dropOldLabels(database, 30);
  expect(await days()).toEqual([10, 0].map((ago) => dayOf(now - ago * DAY_MS)));
  expect(await countRows(database, "usage_event")).toBe(4n);
});
