import { describe, expect, test } from "vitest";
import * as z from "zod";
import { DAY_MS } from "../../../contract/days.ts";
import { closeAccount } from "../../../ledger/accounts/close-account.ts";
import { changeKey } from "../../../ledger/keys/key-settings.ts";
import { createApiKey, revokeApiKey } from "../../../ledger/keys/keys.ts";
import type { Database } from "../../../ledger/postgres/database.ts";
import { createPromptSealer } from "../../../ledger/prompt-log/content.ts";
import { deleteRecord, deleteRecordsOfKey, listRecords, readRecord } from "../../../ledger/prompt-log/records.ts";
import { boundRecords, dropExpiredRecords } from "../../../ledger/prompt-log/upkeep.ts";
import { lowestIdAt } from "../../../ledger/usage/request-id-time.ts";
import { countRows, createCustomer, PEPPER, type Customer } from "../../support/billing/ledger.ts";
import { usePostgres } from "../../support/billing/postgres.ts";
import { addPromptRecord, turnOnPromptLog } from "../../support/billing/prompt-records.ts";

/** Recorded prompts and answers of keys with a prompt log (S60). */
const postgres = usePostgres();
const sealer = createPromptSealer(PEPPER);

async function open(): Promise<{ database: Database; acme: Customer; other: Customer }> {
  const { database } = await postgres.migrated();
  const [acme, other] = [await createCustomer(database, "acme"), await createCustomer(database, "other")];
  for (const customer of [acme, other]) await turnOnPromptLog(database, customer);
  return { database, acme, other };
}

const idsOf = async (database: Database, listing: Partial<Parameters<typeof listRecords>[1]> = {}) =>
  (await listRecords(database, { accountId: "acme", limit: 100, ...listing })).records.map(({ requestId }) => requestId);

const upkeep = (database: Database) => dropExpiredRecords(database, Date.now());
const rows = async (database: Database) => Number(await countRows(database, "prompt_record"));

/** A record of a request that began so long ago. */
async function addOld(database: Database, customer: Customer, daysAgo: number): Promise<string> {
  const ms = Date.now() - daysAgo * DAY_MS;
  return addPromptRecord(database, customer, { requestId: lowestIdAt(ms), startedAt: new Date(ms) });
}

test("an account reads its own records alone, whatever the bytes; a record that was moved does not open (S60)", async () => {
  const { database, acme, other } = await open();
  const bytes = Buffer.from([0, 255, 10, 0]);
  const requestId = await addPromptRecord(database, acme, {
    request: bytes,
    answer: "fine",
    // Of an endless stream: more than the column can hold.
    answerBytes: 2 ** 31,
    status: 400,
    model: null,
  });
  const record = await readRecord(database, sealer, { accountId: "acme", requestId });
  expect(record).toMatchObject({ requestId, keyId: acme.keyId, keyName: "test", status: 400, model: null, requestBytes: 4 });
  expect(record?.answerBytes).toBe(2 ** 31 - 1);
  expect(record?.content.request.text).toEqual(bytes);
  expect(record?.content.answer?.text.toString()).toBe("fine");
  expect((record?.expiresAt.getTime() ?? 0) - (record?.startedAt.getTime() ?? 0)).toBe(7 * DAY_MS);

  expect(await readRecord(database, sealer, { accountId: "other", requestId })).toBeUndefined();
  await expect(deleteRecord(database, { accountId: "other", requestId })).rejects.toThrow("No prompt");
  await database.execute("UPDATE prompt_record SET account_id = 'other', key_id = $1", [other.keyId]);
  await expect(readRecord(database, sealer, { accountId: "other", requestId })).rejects.toThrow("damaged");
});

test("records are listed newest first, in pages, of all keys or one", async () => {
  const { database, acme } = await open();
  const { publicId } = await createApiKey(database, { accountId: "acme", name: "second", pepper: PEPPER, promptLogDays: 1 });
  const ids: string[] = [];
  for (let each = 0; each < 6; each += 1)
    ids.unshift(await addPromptRecord(database, { ...acme, keyId: each % 3 === 0 ? publicId : acme.keyId }));
  expect(await idsOf(database)).toEqual(ids);
  expect(await idsOf(database, { keyId: publicId })).toEqual([ids[2], ids[5]]);
  const first = await listRecords(database, { accountId: "acme", keyId: acme.keyId, limit: 3 });
  expect(first.next).toBe(first.records.at(-1)?.requestId);
  const second = await listRecords(database, { accountId: "acme", keyId: acme.keyId, limit: 3, after: first.next ?? "" });
  expect(second.next).toBeNull();
  expect([...first.records, ...second.records].map(({ requestId }) => requestId)).toEqual([ids[0], ids[1], ids[3], ids[4]]);
});

test("nothing is written for a key whose prompt log is off, or that is not the account's", async () => {
  const { database, acme, other } = await open();
  await changeKey(database, { accountId: "acme", publicId: acme.keyId }, { promptLogDays: null });
  await addPromptRecord(database, acme);
  await addPromptRecord(database, { ...acme, keyId: other.keyId });
  await addPromptRecord(database, { ...acme, keyId: "none" });
  expect(await rows(database)).toBe(0);
});

describe("records are deleted", () => {
  test("when their days are over, also where the key's days became fewer, and those of a key that records no more", async () => {
    const { database, acme, other } = await open();
    const [young, aged] = [await addOld(database, acme, 2), await addOld(database, acme, 6.9)];
    const expired = await addOld(database, acme, 7.1);
    const ofOther = await addOld(database, other, 6.9);
    expect(await idsOf(database)).toEqual([young, aged]);
    await upkeep(database);
    expect(await rows(database)).toBe(3);
    expect(await readRecord(database, sealer, { accountId: "acme", requestId: expired })).toBeUndefined();

    await changeKey(database, { accountId: "acme", publicId: acme.keyId }, { promptLogDays: 3 });
    expect(await idsOf(database)).toEqual([young]);
    await upkeep(database);
    expect(await rows(database)).toBe(2);

    // Off: what was recorded keeps its time.
    await changeKey(database, { accountId: "acme", publicId: acme.keyId }, { promptLogDays: null });
    await upkeep(database);
    expect(await idsOf(database)).toEqual([young]);
    await database.execute("UPDATE prompt_record SET expires_at = now()");
    expect(await idsOf(database)).toEqual([]);
    await upkeep(database);
    expect(await rows(database)).toBe(0);
    expect(await readRecord(database, sealer, { accountId: "other", requestId: ofOther })).toBeUndefined();
  });

  test("on request: those of one key so far, also what comes late, and none that begins later", async () => {
    const { database, acme } = await open();
    const nowMs = Date.now();
    const { publicId } = await createApiKey(database, { accountId: "acme", name: "second", pepper: PEPPER, promptLogDays: 1 });
    const kept = await addPromptRecord(database, { ...acme, keyId: publicId });
    await addPromptRecord(database, acme, { requestId: lowestIdAt(nowMs - 1_000) });
    await deleteRecordsOfKey(database, { accountId: "acme", keyId: acme.keyId, nowMs });
    expect(await idsOf(database)).toEqual([kept]);
    // It was in flight.
    await addPromptRecord(database, acme, { requestId: lowestIdAt(nowMs) });
    const later = await addPromptRecord(database, acme, { requestId: lowestIdAt(nowMs + 2) });
    await upkeep(database);
    expect(await rows(database)).toBe(2);
    expect(new Set(await idsOf(database))).toEqual(new Set([kept, later]));
    await deleteRecord(database, { accountId: "acme", requestId: later });
    expect(await idsOf(database)).toEqual([kept]);
  });

  test("on request, also those of a gateway whose clock is ahead, and nothing else of the time until then (S60)", async () => {
    const { database, acme } = await open();
    const { publicId } = await createApiKey(database, { accountId: "acme", name: "second", pepper: PEPPER, promptLogDays: 7 });
    const nowMs = Date.now();
    const ahead = lowestIdAt(nowMs + 60_000);
    await addPromptRecord(database, acme, { requestId: ahead });
    const kept = await addPromptRecord(database, { ...acme, keyId: publicId }, { requestId: lowestIdAt(nowMs + 50_000) });
    await deleteRecordsOfKey(database, { accountId: "acme", keyId: acme.keyId, nowMs });
    expect(await readRecord(database, sealer, { accountId: "acme", requestId: ahead })).toBeUndefined();
    const later = await addPromptRecord(database, acme, { requestId: lowestIdAt(nowMs + 30_000) });
    expect(await idsOf(database)).toEqual([kept, later]);
  });

  test("with their key, and with their account", async () => {
    const { database, acme, other } = await open();
    for (let each = 0; each < 250; each += 1) await addPromptRecord(database, acme);
    await addPromptRecord(database, other);
    await revokeApiKey(database, acme.keyId);
    expect(await idsOf(database)).toEqual([]);
    await upkeep(database);
    expect(await rows(database)).toBe(1);
    await closeAccount(database, { accountId: "other", personId: null });
    expect(await idsOf(database, { accountId: "other" })).toEqual([]);
    await addPromptRecord(database, other);
    await upkeep(database);
    expect(await rows(database)).toBe(0);
  });
});

describe("what is recorded is bounded", () => {
  const NO_BOUNDS = { maxBytes: 1e9, maxAccountBytes: 1e9, maxAccountRecords: 1e9 };
  const totalRow = z.strictObject({ accountId: z.string(), records: z.int(), bytes: z.bigint() });

  /** As counted, and as it is. */
  async function totals(database: Database) {
    const counted = await database.query({
      text: 'SELECT account_id AS "accountId", records, bytes FROM prompt_record_total WHERE records > 0 ORDER BY 1',
      row: totalRow,
    });
    const real = await database.query({
      text: `SELECT account_id AS "accountId", count(*)::integer AS records, sum(octet_length(content))::bigint AS bytes
             FROM prompt_record GROUP BY account_id ORDER BY 1`,
      row: totalRow,
    });
    expect(counted).toEqual(real);
    return Object.fromEntries(real.map(({ accountId, records }) => [accountId, records]));
  }

  test("an account's oldest go first, and only its own", async () => {
    const { database, acme, other } = await open();
    const ids: string[] = [];
    for (let each = 0; each < 20; each += 1) ids.unshift(await addPromptRecord(database, acme));
    await addPromptRecord(database, other);
    expect(await boundRecords(database, { ...NO_BOUNDS, maxAccountRecords: 20 })).toMatchObject({ dropped: 0 });
    expect(await boundRecords(database, { ...NO_BOUNDS, maxAccountRecords: 10 })).toMatchObject({ dropped: 11 });
    expect(await idsOf(database)).toEqual(ids.slice(0, 9));
    expect(await totals(database)).toEqual({ acme: 9, other: 1 });
    const { bytes } = await boundRecords(database, NO_BOUNDS);
    await boundRecords(database, { ...NO_BOUNDS, maxAccountBytes: Math.floor(bytes / 2) });
    expect(await idsOf(database)).toEqual(ids.slice(0, 4));
  });

  test("of all together, the account that has most makes room; no room at all leaves nothing", async () => {
    const { database, acme, other } = await open();
    for (let each = 0; each < 40; each += 1) await addPromptRecord(database, each % 4 === 0 ? other : acme);
    const { bytes } = await boundRecords(database, NO_BOUNDS);
    await boundRecords(database, { ...NO_BOUNDS, maxBytes: bytes * 0.8 });
    const { acme: left, other: leftOfOther } = await totals(database);
    expect(leftOfOther).toBe(10);
    expect(left).toBeLessThan(23);
    expect(left).toBeGreaterThan(15);
    await boundRecords(database, { ...NO_BOUNDS, maxBytes: 0 });
    expect(await totals(database)).toEqual({});
  });
});
