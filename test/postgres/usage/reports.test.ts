import { v7 as uuidv7 } from "uuid";
import { expect, test } from "vitest";
import { DAY_MS, dayOf, HOUR_MS } from "../../../contract/days.ts";
import { postCredit } from "../../../ledger/credit/entries.ts";
import { listEntries } from "../../../ledger/credit/entry-list.ts";
import { createApiKey, revokeApiKey } from "../../../ledger/keys/keys.ts";
import { percentile } from "../../../ledger/usage/percentile.ts";
import { addUpPerformance } from "../../../ledger/usage/performance.ts";
import { MEASURES, readPerformance, type PerformanceGroup } from "../../../ledger/usage/performance-report.ts";
import { noteAction } from "../../../ledger/people/audit.ts";
import { createPerson } from "../../support/dashboard/people.ts";
import { usageByHour, usageByKey, usageByModelAndDay, usageTotals } from "../../../ledger/usage/reports.ts";
import { settle } from "../../../ledger/settlement/settle.ts";
import type { Settlement } from "../../../ledger/settlement/settlement.ts";
import { createCustomer, PEPPER, seedLedger, settlementOf, type Customer } from "../../support/billing/ledger.ts";
import { usePostgres } from "../../support/billing/postgres.ts";

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
    searches: 0,
    images: 0,
    characters: 0,
    seconds: 0,
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
      searches: 0,
      images: 0,
      characters: 0,
      seconds: 0,
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

test("an account's usage is that of all its keys, and filtered by one it is that key's; no report shows another account's (S27)", async () => {
  const { database } = await postgres.migrated();
  const customer = await seedLedger(database);
  const other = await createCustomer(database, "other");
  const { publicId: secondKeyId } = await createApiKey(database, { accountId: "acme", name: "second", pepper: PEPPER });
  await settle(database, [
    at("2026-11-20T10:15:00.000Z", customer),
    at("2026-11-20T10:45:00.000Z", customer, { keyId: secondKeyId, chargeNanoUsd: 500_000n }),
    at("2026-11-20T11:00:00.000Z", customer, { model: "modelx-chat" }),
    at("2026-11-20T10:30:00.000Z", other),
  ]);
  await revokeApiKey(database, secondKeyId);
  const range = { accountId: "acme", fromDay: "2026-11-01", toDay: "2026-11-30" };

  const days = await usageByModelAndDay(database, range);
  expect(days.map(({ day, model, requests, chargeNanoUsd }) => [day, model, requests, chargeNanoUsd])).toEqual([
    ["2026-11-20", "modelx-chat", 1, 90_000n],
    ["2026-11-20", "modelx-v4-pro", 2, 590_000n],
  ]);
  expect(await usageByModelAndDay(database, { ...range, keyId: secondKeyId })).toMatchObject([{ chargeNanoUsd: 500_000n }]);
  expect(await usageByModelAndDay(database, { ...range, keyId: other.keyId })).toEqual([]);

  expect((await usageByKey(database, { ...range, limit: 10 })).keys).toMatchObject([
    { keyId: secondKeyId, name: "second", isRevoked: true, requests: 1, chargeNanoUsd: 500_000n },
    { keyId: customer.keyId, name: "test", isRevoked: false, requests: 2, chargeNanoUsd: 180_000n, inputTokens: 200 },
  ]);

  const morning = { accountId: "acme", from: new Date("2026-11-20T10:00:00Z"), to: new Date("2026-11-20T11:00:00Z") };
  expect(await usageByHour(database, morning)).toMatchObject([
    { hour: morning.from, model: "modelx-v4-pro", requests: 2, chargeNanoUsd: 590_000n },
  ]);
  expect(await usageByHour(database, { ...morning, keyId: customer.keyId })).toMatchObject([{ chargeNanoUsd: 90_000n }]);
});

test.for([
  ["2026-11-20", [1, 3, 6, 5]],
  // The month is longer than thirty days.
  ["2026-10-31", [0, 0, 1, 2]],
  ["2027-01-15", [0, 0, 0, 0]],
] as const)("on %s the totals are those of today, 7 days, 30 days and the month (S27)", async ([today, requests]) => {
  const { database } = await postgres.migrated();
  const customer = await seedLedger(database);
  const days = ["2026-10-01", "2026-10-22", "2026-11-01", "2026-11-13", "2026-11-14", "2026-11-19", "2026-11-20"];
  await settle(
    database,
    days.map((day) => at(`${day}T12:00:00.000Z`, customer)),
  );
  const totals = await usageTotals(database, { accountId: "acme", today });
  expect([totals.today, totals.last7Days, totals.last30Days, totals.thisMonth].map((each) => each.requests)).toEqual(requests);
  expect(totals.last30Days.chargeNanoUsd).toBe(90_000n * BigInt(requests[2]));
});

test("credits are listed newest first, in pages, without charges for requests (S27)", async () => {
  const { database } = await postgres.migrated();
  const customer = await seedLedger(database);
  for (let number = 0; number < 5; number++)
    await postCredit(database, { accountId: "acme", kind: "grant", amountNanoUsd: 1n, reference: `r${number}`, note: "hello" });
  await settle(database, [at("2026-11-20T12:00:00.000Z", customer)]);
  const first = await listEntries(database, { accountId: "acme", limit: 3 });
  expect(first.entries[0]).toMatchObject({ kind: "grant", amountNanoUsd: 1n, reference: "r4", note: "hello" });
  if (first.next === null) throw new Error("there are two more");
  const rest = await listEntries(database, { accountId: "acme", limit: 3, afterId: first.next });
  expect([...first.entries, ...rest.entries].map(({ reference }) => reference)).toEqual(["r4", "r3", "r2", "r1", "r0"]);
  expect(rest.next).toBeNull();
});

function at(moment: string, customer: Customer, changes: Partial<Settlement> = {}): Settlement {
  return settlementOf(customer, { requestId: uuidv7({ msecs: Date.parse(moment) }), ...changes });
}

test("latency, first tokens, speed and failures are the same before and after aggregation, late requests included", async () => {
  const { database } = await postgres.migrated();
  const customer = await seedLedger(database);
  const other = await createCustomer(database, "other");
  const nowMs = Math.floor(Date.now() / HOUR_MS) * HOUR_MS + 60_000;
  const before = (ms: number, changes: Partial<Settlement> = {}, whose = customer) =>
    at(new Date(nowMs - ms).toISOString(), whose, { durationMs: 2_000, firstTokenMs: 400, ...changes });
  await settle(database, [
    before(HOUR_MS),
    before(HOUR_MS, { durationMs: 4_000, firstTokenMs: 800 }),
    before(HOUR_MS, { outcome: "failed", durationMs: 90_000, firstTokenMs: null }),
    before(HOUR_MS, { outcome: "aborted", durationMs: 90_000 }),
    before(HOUR_MS, { durationMs: 90_000 }, other),
    before(3 * DAY_MS, { model: "modelx-chat" }),
    before(0, { durationMs: 8_000 }),
  ]);
  const asked = { accountId: customer.accountId, fromDay: dayOf(nowMs - 9 * DAY_MS), toDay: dayOf(nowMs), most: 5 };
  const read = async (step: "range" | "hour" | "day", by: PerformanceGroup = "model") => {
    const bins = await readPerformance(database, { ...asked, measures: MEASURES, by, step });
    const parts = Map.groupBy(bins, ({ group, start, measure }) => `${group} ${start} ${measure}`.trim());
    const counts = (part: typeof bins) =>
      part.toSorted((a, b) => a.bin - b.bin).map(({ bin, requests }): [number, number] => [bin, requests]);
    return new Map([...parts].map(([name, part]) => [name, counts(part)]));
  };
  const all = async () => Promise.all([read("range"), read("hour"), read("day"), read("range", "all")]);
  const live = await all();
  for (let turn = 0; turn < 31; turn++) await addUpPerformance(database, nowMs);
  expect(await all()).toEqual(live);

  const bins = await readPerformance(database, { ...asked, measures: ["duration"], by: "model", step: "range" });
  const own = bins.filter(({ group }) => group === "modelx-v4-pro");
  expect([0.3, 0.6, 1].map((share) => Math.round((percentile(own, share) ?? 0) / 1000))).toEqual([2, 4, 8]);
  expect((await read("range", "all")).get("failed")).toEqual(
    expect.arrayContaining([
      [0, 4],
      [1, 1],
    ]),
  );

  // Settled after its hour was added up.
  await settle(database, [before(HOUR_MS, { outcome: "truncated" })]);
  await addUpPerformance(database, nowMs + HOUR_MS);
  expect((await read("range", "all")).get("failed")).toEqual(
    expect.arrayContaining([
      [0, 4],
      [1, 2],
    ]),
  );
  expect((await read("day")).get(`modelx-chat ${dayOf(nowMs - 3 * DAY_MS)} failed`)).toEqual([[0, 1]]);
});

test("performance is grouped by the key's creator; only the groups with the most requests are read", async () => {
  const { database } = await postgres.migrated();
  await seedLedger(database);
  const { person, accountId } = await createPerson(database, "ann@example.com");
  const keys: string[] = [];
  for (const name of ["one", "two", "made by nobody"]) {
    const { publicId } = await createApiKey(database, { accountId, name, pepper: PEPPER });
    keys.push(publicId);
    if (name !== "made by nobody")
      await noteAction(database, { accountId, personId: person.id, action: "key.created", subject: publicId });
  }
  const [one = "", two = "", nobodys = ""] = keys;
  await settle(
    database,
    [one, one, two, nobodys].map((keyId) => settlementOf({ accountId, keyId }, {})),
  );
  const today = dayOf(Date.now());
  const asked = { accountId, fromDay: dayOf(Date.now() - DAY_MS), toDay: today, measures: ["failed"], step: "range" } as const;
  const groups = async (by: PerformanceGroup, most: number) =>
    (await readPerformance(database, { ...asked, by, most })).map(({ group, requests }): [string, number] => [group, requests]);
  expect(new Map(await groups("member", 5))).toEqual(
    new Map([
      [person.id, 3],
      ["", 1],
    ]),
  );
  expect(await groups("member", 1)).toEqual([[person.id, 3]]);
  expect(await groups("key", 1)).toEqual([[one, 2]]);
});
