import { Readable } from "node:stream";
import { expect, test } from "vitest";
import * as z from "zod";
import { endOne } from "../../../dashboard/batches/end.ts";
import { prepareOne } from "../../../dashboard/batches/prepare.ts";
import { ACCOUNT_BOUNDS } from "../../../contract/account-bounds.ts";
import { createAccount, setAccountStatus } from "../../../ledger/accounts/accounts.ts";
import { cancelBatch, createBatch, endBatchesOf, findBatch, listBatches } from "../../../ledger/batches/batches.ts";
import { createBatchContent } from "../../../ledger/batches/content.ts";
import { endOverdue } from "../../../ledger/batches/ending.ts";
import { beginUpload, deleteFile, findFile, resultFileId } from "../../../ledger/batches/files.ts";
import { startBatch } from "../../../ledger/batches/requests.ts";
import { createBatchRoom } from "../../../ledger/batches/room.ts";
import { dropExpiredBatches } from "../../../ledger/batches/upkeep.ts";
import { postCredit } from "../../../ledger/credit/entries.ts";
import type { Database, Queryable } from "../../../ledger/postgres/database.ts";
import { PEPPER, seedLedger } from "../../support/billing/ledger.ts";
import { openDashboard } from "../../support/dashboard/dashboard.ts";
import { usePostgres } from "../../support/billing/postgres.ts";

/** What batches take of the database and of the process that reads them (S58). */
const postgres = usePostgres();

const content = createBatchContent(PEPPER);
const MEBIBYTE = 1024 ** 2;
const room = createBatchRoom({ maxBytes: 4_096 * MEBIBYTE });
const line = (id: number) =>
  `${JSON.stringify({ custom_id: `r${id}`, method: "POST", url: "/v1/chat/completions", body: { model: "m" } })}\n`;

async function createFrom(
  database: Database,
  accountId: string,
  text: string,
  wish: { resultsKeptSeconds?: number } = {},
): Promise<string> {
  const plain = Buffer.from(text);
  const upload = await beginUpload(database, { accountId, bytes: plain.length, room, content });
  await upload.add(plain);
  await upload.complete({ name: "requests.jsonl", keptSeconds: 3_600 });
  const batch = { accountId, keyId: "key", kind: "batch", interface: "chat", inputFileId: upload.fileId } as const;
  const id = await createBatch(database, { ...batch, ...wish, bytes: plain.length, room });
  await prepareOne({ database, content });
  return id;
}

async function bytesOf(database: Database, id: string): Promise<number> {
  const row = z.strictObject({ bytes: z.bigint().transform(Number) });
  const [found] = await database.query({ text: "SELECT bytes FROM batch WHERE id = $1", values: [id], row });
  return found?.bytes ?? 0;
}

test("a batch takes room for its requests until its results are deleted, and then has none of them (S58)", async () => {
  const { database } = await postgres.migrated();
  const { accountId } = await seedLedger(database);
  const requests = 300;
  const id = await createFrom(database, accountId, Array.from({ length: requests }, (_, index) => line(index)).join(""));
  expect(await bytesOf(database, id)).toBeGreaterThan(requests * 512);
  await cancelBatch(database, { accountId, id, kind: "batch" });
  await endOne({ database, content });
  await deleteFile(database, accountId, resultFileId(id, "error"));
  await dropExpiredBatches(database);
  const rows = await database.query({
    text: "SELECT count(*)::integer AS rows FROM batch_request WHERE batch_id = $1",
    values: [id],
    row: z.strictObject({ rows: z.int() }),
  });
  expect(rows).toEqual([{ rows: 0 }]);
  expect(await bytesOf(database, id)).toBe(0);
  expect(await findBatch(database, { accountId, id, kind: "batch" })).toMatchObject({ requests, canceled: requests });
});

/** Batches that have ended, of an account. */
async function addEnded(database: Database, accountId: string, batches: number, bytes = 0): Promise<void> {
  await database.execute(
    `INSERT INTO batch (id, account_id, key_id, interface, state, bytes, due_at, ended_at, created_at, deleted_at)
     SELECT 'batch_' || replace(uuidv7()::text, '-', ''), $1, 'key', 'chat', 'ended', $3, now(), now(),
       now() - make_interval(days => 2, secs => $2 - number), now() + interval '1 day' FROM generate_series(1, $2) AS number`,
    [accountId, batches, bytes],
  );
}

const NEW = { keyId: "key", kind: "msgbatch", interface: "messages", bytes: 0 } as const;

test("in place of the oldest finished batch of an account, another is created (S58)", async () => {
  const { database } = await postgres.migrated();
  const { accountId } = await seedLedger(database);
  await addEnded(database, accountId, ACCOUNT_BOUNDS.batches);
  const [oldest] = (await listBatches(database, accountId, { kind: "any", limit: ACCOUNT_BOUNDS.batches })).slice(-1);
  const id = await createBatch(database, { ...NEW, accountId, room });
  expect(oldest && (await findBatch(database, { accountId, id: oldest.id, kind: "any" }))).toBeUndefined();
  expect(await listBatches(database, accountId, { kind: "any", limit: ACCOUNT_BOUNDS.batches + 1 })).toHaveLength(
    ACCOUNT_BOUNDS.batches - 1,
  );
  await dropExpiredBatches(database);
  await startBatch(database, { batchId: id, requests: 1, bytes: 1 });
  expect(await listBatches(database, accountId, { kind: "any", limit: 1 })).toMatchObject([{ id }]);
});

test("an account takes no more room than it leaves to others (S58)", async () => {
  const { database } = await postgres.migrated();
  const { accountId } = await seedLedger(database);
  const small = createBatchRoom({ maxBytes: 100 * MEBIBYTE });
  const upload = (bytes: number) => beginUpload(database, { accountId, bytes, room: small, content });
  await upload(30 * MEBIBYTE);
  await upload(15 * MEBIBYTE);
  await expect(upload(15 * MEBIBYTE)).rejects.toMatchObject({ code: "overloaded" });
  await createAccount(database, { id: "other", name: "Other" });
  await beginUpload(database, { accountId: "other", bytes: 20 * MEBIBYTE, room: small, content });
});

test("uploads that fail, or are smaller than they may be, take no room from others (S58)", async () => {
  const { database } = await postgres.migrated();
  const { accountId, key } = await seedLedger(database);
  await postCredit(database, { accountId, kind: "grant", amountNanoUsd: 1_000_000_000n, reference: "start" });
  const { app } = await openDashboard(database, { maxBatchBytes: 1_000 * MEBIBYTE });
  const upload = async (path: string, type: string, payload: string) => {
    const headers = {
      authorization: `Bearer ${key}`,
      "content-type": type,
      ...(path === "/v1/files" ? {} : { "anthropic-version": "2023-06-01" }),
    };
    // Without its length, as programs send what they do not have yet.
    const stream = Readable.from([Buffer.from(payload)]);
    return app.inject({ method: "POST", url: path, headers: { ...headers, "transfer-encoding": "chunked" }, payload: stream });
  };
  const form = (purpose: string) =>
    `--x\r\ncontent-disposition: form-data; name="purpose"\r\n\r\n${purpose}\r\n` +
    `--x\r\ncontent-disposition: form-data; name="file"; filename="f"\r\n\r\n${line(1)}\r\n--x--\r\n`;
  const attempts = [
    () => upload("/v1/files", "multipart/form-data; boundary=x", form("assistants")),
    () => upload("/v1/files", "multipart/form-data; boundary=x", form("batch")),
    () => upload("/v1/messages/batches", "application/json", '{"requests":[]}'),
    () =>
      upload(
        "/v1/messages/batches",
        "application/json",
        '{"requests":[{"custom_id":"a","params":{"model":"m","max_tokens":1}}]}',
      ),
  ];
  const statuses: number[] = [];
  for (let round = 0; round < 10; round++) for (const attempt of attempts) statuses.push((await attempt()).statusCode);
  expect(statuses).toEqual(Array.from({ length: 10 }, () => [400, 200, 400, 200]).flat());
});

test("what is free again while all rows are summed is counted once (S58)", async () => {
  const { database } = await postgres.migrated();
  const { accountId } = await seedLedger(database);
  await createAccount(database, { id: "other", name: "Other" });
  let nowMs = 0;
  const own = createBatchRoom({ maxBytes: 1_000, nowMs: () => nowMs });
  const begin = (bytes: number) => beginUpload(database, { accountId, bytes, room: own, content });
  const take = (bytes: number) =>
    database.transaction(async (transaction) => own.take(transaction, { accountId: "other", kind: "file", bytes }));
  await (await begin(300)).add(Buffer.alloc(300));
  const first = await begin(200);
  const freed = own.giveBack(200, async () => {
    await database.execute("DELETE FROM batch_file WHERE id = $1", [first.fileId]);
    nowMs += 11_000;
    await take(0);
    return true;
  });
  expect(await freed).toBe(true);
  await expect(take(400)).rejects.toMatchObject({ code: "overloaded" });
  await take(350);
});

async function countReads(transaction: Queryable): Promise<number> {
  const [row] = await transaction.query({
    text: "SELECT (seq_tup_read + idx_tup_fetch)::bigint AS rows FROM pg_stat_xact_user_tables WHERE relname = 'batch'",
    row: z.strictObject({ rows: z.bigint().transform(Number) }),
  });
  return row?.rows ?? 0;
}

test("a batch is created without reading those of all other accounts each time (S58)", async () => {
  const { database } = await postgres.migrated();
  const { accountId } = await seedLedger(database);
  await createAccount(database, { id: "other", name: "Other" });
  await addEnded(database, "other", 2_000, 2);
  await database.execute("ANALYZE batch");
  let nowMs = 0;
  const own = createBatchRoom({ maxBytes: 4_000, nowMs: () => nowMs });
  const rowsRead = (wish: { bytes: number }) =>
    database.transaction(async (transaction) => {
      // Of this connection, since it reported them last.
      const before = await countReads(transaction);
      await own.take(transaction, { accountId, kind: "batch", ...wish });
      return (await countReads(transaction)) - before;
    });
  await expect(rowsRead({ bytes: 1 })).rejects.toMatchObject({ code: "overloaded" });
  expect(await rowsRead({ bytes: 0 })).toBeLessThan(100);
  await database.execute("DELETE FROM batch");
  nowMs = 11_000;
  await rowsRead({ bytes: 900 });
  expect(await rowsRead({ bytes: 900 })).toBeLessThan(100);
  await expect(rowsRead({ bytes: 1_500 })).rejects.toMatchObject({ code: "overloaded" });
});

test("results that expire before their batch are deleted, and take no room any more (S58)", async () => {
  const { database } = await postgres.migrated();
  const { accountId } = await seedLedger(database);
  const id = await createFrom(database, accountId, line(1), { resultsKeptSeconds: 3_600 });
  await cancelBatch(database, { accountId, id, kind: "batch" });
  await endOne({ database, content });
  const error = resultFileId(id, "error");
  await dropExpiredBatches(database);
  expect(await findFile(database, accountId, error)).toBeDefined();
  await database.execute("UPDATE batch SET ended_at = now() - interval '1 hour' WHERE id = $1", [id]);
  expect(await findFile(database, accountId, error)).toBeUndefined();
  expect(await bytesOf(database, id)).toBeGreaterThan(0);
  await dropExpiredBatches(database);
  expect(await bytesOf(database, id)).toBe(0);
  expect(await findBatch(database, { accountId, id, kind: "batch" })).toMatchObject({ state: "ended", isErrorDeleted: true });
});

test("a file that expires while a batch is created from it is refused, or stays until its requests were read (S58)", async () => {
  const { database } = await postgres.migrated();
  const { accountId } = await seedLedger(database);
  const upload = await beginUpload(database, { accountId, bytes: 1_000, room, content });
  await upload.add(Buffer.from(line(1)));
  await upload.complete({ name: "requests.jsonl", keptSeconds: 3_600 });
  const batch = { accountId, keyId: "key", kind: "batch", interface: "chat", inputFileId: upload.fileId, bytes: 1_000 } as const;
  const creating = Promise.withResolvers<void>();
  const slow = {
    async take() {
      await database.execute("UPDATE batch_file SET expires_at = clock_timestamp() WHERE id = $1", [upload.fileId]);
      creating.resolve();
    },
    giveBack: async (_bytes: number, work: () => Promise<boolean>) => work(),
  };
  await expect(createBatch(database, { ...batch, room: slow })).rejects.toMatchObject({ code: "not_found" });
  await creating.promise;
  await database.execute("UPDATE batch_file SET expires_at = now() + interval '1 day' WHERE id = $1", [upload.fileId]);
  const id = await createBatch(database, { ...batch, room });
  await deleteFile(database, accountId, upload.fileId).catch(() => {});
  await database.execute("UPDATE batch_file SET expires_at = now() WHERE id = $1", [upload.fileId]);
  await dropExpiredBatches(database);
  await prepareOne({ database, content });
  expect(await findBatch(database, { accountId, id, kind: "batch" })).toMatchObject({ state: "running", requests: 1 });
});

test("of a file with too many lines, or too many JSON values in one, the rest is not read (S58)", async () => {
  const { database } = await postgres.migrated();
  const { accountId } = await seedLedger(database);
  const find = (id: string) => findBatch(database, { accountId, id, kind: "batch" });

  const empty = await createFrom(database, accountId, `${line(1)}${"\n".repeat(100_000)}${line(1)}`);
  expect(await find(empty)).toMatchObject({
    state: "ended",
    errors: [{ message: "The file has more than 100000 lines. Split it into several files.", line: 100_001 }],
  });
  const values = line(1).replace('"m"', `"m","x":[${"{},".repeat(250_000)}{}]`);
  const excessive = await createFrom(database, accountId, values);
  expect((await find(excessive))?.errors).toMatchObject([{ message: "The line must have at most 400000 JSON values.", line: 1 }]);
  const members = line(1).replace('"m"', `"m","x":{${Array.from({ length: 100_000 }, (_, at) => `"m${at}":1`).join(",")}}`);
  const named = await createFrom(database, accountId, members);
  expect((await find(named))?.errors).toMatchObject([
    { message: "The line must have at most 100000 members of objects.", line: 1 },
  ]);
  const commas = await createFrom(database, accountId, line(1).replace('"m"', `"m","x":"\\"${"{,[:".repeat(250_000)}"`));
  expect(await find(commas)).toMatchObject({ state: "running", errors: [] });
});

test("a batch that ends after its account was closed is deleted (S58)", async () => {
  const { database } = await postgres.migrated();
  const { accountId } = await seedLedger(database);
  const id = await createFrom(database, accountId, line(1));
  await endBatchesOf(database, accountId);
  while (await endOne({ database, content }));
  await dropExpiredBatches(database);
  const text = "SELECT id FROM batch WHERE id = $1";
  expect(await database.query({ text, values: [id], row: z.unknown() })).toEqual([]);
});

test("of an account that is closed while a file or a batch arrives, neither stays (S58)", async () => {
  const { database } = await postgres.migrated();
  const { accountId } = await seedLedger(database);
  const file = { accountId, bytes: 1_000, room, content };
  const upload = await beginUpload(database, file);
  const id = await createBatch(database, { ...NEW, accountId, room });
  await setAccountStatus(database, accountId, "suspended");
  await endBatchesOf(database, accountId);
  await expect(upload.complete({ name: "requests.jsonl", keptSeconds: 3_600 })).rejects.toMatchObject({
    code: "permission_denied",
  });
  await startBatch(database, { batchId: id, requests: 0, bytes: 0 });
  await endOverdue(database);
  while (await endOne({ database, content }));
  await dropExpiredBatches(database);
  const text = "SELECT id FROM batch_file UNION ALL SELECT id FROM batch";
  expect(await database.query({ text, row: z.unknown() })).toEqual([]);
  // Whoever had waited for a turn since before.
  await expect(beginUpload(database, file)).rejects.toMatchObject({ code: "permission_denied" });
  await expect(createBatch(database, { ...NEW, accountId, room })).rejects.toMatchObject({ code: "permission_denied" });
});

test("what an upload that was killed has reserved is free ten minutes after it began, and not before (S58)", async () => {
  const { database } = await postgres.migrated();
  const { accountId } = await seedLedger(database);
  await beginUpload(database, { accountId, bytes: MEBIBYTE, room, content });
  await createBatch(database, { accountId, keyId: "key", kind: "msgbatch", interface: "messages", bytes: MEBIBYTE, room });
  const reserved = async (): Promise<number> =>
    (await database.execute("SELECT FROM batch_file")) + (await database.execute("SELECT FROM batch"));
  for (const [minutes, left] of [
    [6, 2],
    [5, 0],
  ] as const) {
    await database.execute("UPDATE batch_file SET expires_at = expires_at - make_interval(mins => $1)", [minutes]);
    await database.execute("UPDATE batch SET created_at = created_at - make_interval(mins => $1)", [minutes]);
    await dropExpiredBatches(database);
    expect(await reserved()).toBe(left);
  }
});

test("a process that stands still while it prepares a batch leaves it to the one that takes it over (S58)", async () => {
  const { database } = await postgres.migrated();
  const { accountId } = await seedLedger(database);
  const upload = await beginUpload(database, { accountId, bytes: 1_000, room, content });
  for (const id of [1, 2]) await upload.add(Buffer.from(line(id)));
  await upload.complete({ name: "requests.jsonl", keptSeconds: 3_600 });
  const batch = { accountId, keyId: "key", kind: "batch", interface: "chat", inputFileId: upload.fileId, bytes: 1_000 } as const;
  const id = await createBatch(database, { ...batch, room });
  const [reached, resumed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const slow: Database = {
    ...database,
    async query(statement) {
      // The second part of the file.
      if (statement.values?.[0] === upload.fileId && statement.values[1] === 1) {
        reached.resolve();
        await resumed.promise;
      }
      return database.query(statement);
    },
  };
  const preparing = prepareOne({ database: slow, content });
  await reached.promise;
  await database.execute("UPDATE batch SET taken_until = now() - interval '1 second' WHERE id = $1", [id]);
  expect(await prepareOne({ database, content })).toBe("running");
  resumed.resolve();
  expect(await preparing).toBe("lost");
  expect(await findBatch(database, { accountId, id, kind: "batch" })).toMatchObject({ state: "running", requests: 2 });
  const text = "SELECT count(*)::integer AS rows FROM batch_request WHERE batch_id = $1";
  expect(await database.query({ text, values: [id], row: z.unknown() })).toEqual([{ rows: 2 }]);
});

/** Stands still once, after the statement that this names. */
function stallAfter(database: Database, isReached: (text: string) => boolean) {
  const [reached, resumed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let hasStalled = false;
  async function stall(text: string): Promise<void> {
    if (hasStalled || !isReached(text)) return;
    hasStalled = true;
    reached.resolve();
    await resumed.promise;
  }
  const slow: Database = {
    ...database,
    async query(statement) {
      const rows = await database.query(statement);
      await stall(statement.text);
      return rows;
    },
    async transaction(work, options) {
      let texts = "";
      const result = await database.transaction(
        (transaction) =>
          work({
            ...transaction,
            query(statement) {
              texts += statement.text;
              return transaction.query(statement);
            },
          }),
        options,
      );
      await stall(texts);
      return result;
    },
  };
  return { slow, reached: reached.promise, resume: resumed.resolve };
}

test.for([
  ["has taken it", "UPDATE batch SET taken_until"],
  ["has read its file", "INSERT INTO batch_request"],
] as const)(
  "a process that stands still when it %s leaves a batch to another, with all of its requests (S58)",
  async ([, text]) => {
    const { database } = await postgres.migrated();
    const { accountId } = await seedLedger(database);
    const upload = await beginUpload(database, { accountId, bytes: 1_000, room, content });
    await upload.add(Buffer.from(line(1) + line(2)));
    await upload.complete({ name: "requests.jsonl", keptSeconds: 3_600 });
    const batch = {
      accountId,
      keyId: "key",
      kind: "batch",
      interface: "chat",
      inputFileId: upload.fileId,
      bytes: 1_000,
    } as const;
    const id = await createBatch(database, { ...batch, room });
    const { slow, reached, resume } = stallAfter(database, (statement) => statement.includes(text));
    const preparing = prepareOne({ database: slow, content });
    await reached;
    await database.execute("UPDATE batch SET taken_until = now() - interval '1 second' WHERE id = $1", [id]);
    expect(await prepareOne({ database, content })).toBe("running");
    resume();
    expect(await preparing).toBe("lost");
    expect(await findBatch(database, { accountId, id, kind: "batch" })).toMatchObject({ state: "running", requests: 2 });
    const rows = "SELECT count(*)::integer AS rows FROM batch_request WHERE batch_id = $1";
    expect(await database.query({ text: rows, values: [id], row: z.unknown() })).toEqual([{ rows: 2 }]);
  },
);
