import { expect, test } from "vitest";
import * as z from "zod";
import { endOne } from "../../dashboard/batches/end.ts";
import { prepareOne } from "../../dashboard/batches/prepare.ts";
import { cancelBatch, createBatch, endBatchesOf, findBatch } from "../../ledger/batches/batches.ts";
import { createBatchContent } from "../../ledger/batches/content.ts";
import { beginUpload, deleteFile, resultFileId } from "../../ledger/batches/files.ts";
import { dropExpiredBatches } from "../../ledger/batches/upkeep.ts";
import type { Database } from "../../ledger/postgres/database.ts";
import { PEPPER, seedLedger } from "../support/ledger.ts";
import { usePostgres } from "../support/postgres.ts";

/** What batches take of the database and of the process that reads them (S58). */
const postgres = usePostgres();

const content = createBatchContent(PEPPER);
const MAX_BYTES = 1024 ** 3;
const line = (id: number) =>
  `${JSON.stringify({ custom_id: `r${id}`, method: "POST", url: "/v1/chat/completions", body: { model: "m" } })}\n`;

async function createFrom(database: Database, accountId: string, text: string): Promise<string> {
  const plain = Buffer.from(text);
  const upload = await beginUpload(database, { accountId, bytes: plain.length, maxBytes: MAX_BYTES, content });
  await upload.add(plain);
  await upload.complete("requests.jsonl");
  const batch = { accountId, keyId: "key", kind: "batch", interface: "chat", inputFileId: upload.fileId } as const;
  const id = await createBatch(database, { ...batch, bytes: plain.length, maxBytes: MAX_BYTES });
  await prepareOne({ database, content });
  return id;
}

async function bytesOf(database: Database, id: string): Promise<number> {
  const row = z.strictObject({ bytes: z.bigint().transform(Number) });
  const [found] = await database.query({ text: "SELECT bytes FROM batch WHERE id = $1", values: [id], row });
  return found?.bytes ?? 0;
}

test("a batch keeps taking room for its requests when its results were deleted (S58)", async () => {
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
    text: "SELECT count(*)::integer AS rows FROM batch_request WHERE batch_id = $1 AND result IS NULL AND body IS NULL",
    values: [id],
    row: z.strictObject({ rows: z.int() }),
  });
  expect(rows).toEqual([{ rows: requests }]);
  expect(await bytesOf(database, id)).toBeGreaterThan(requests * 512);
});

test("of a file with too many lines, or too many JSON values in one, the rest is not read (S58)", async () => {
  const { database } = await postgres.migrated();
  const { accountId } = await seedLedger(database);
  const find = (id: string) => findBatch(database, { accountId, id, kind: "batch" });

  const empty = await createFrom(database, accountId, `${line(1)}${"\n".repeat(100_000)}${line(1)}`);
  expect(await find(empty)).toMatchObject({
    state: "ended",
    errors: [{ message: "The file has more than 100000 lines. Split it.", line: 100_001 }],
  });
  const values = line(1).replace('"m"', `"m","x":[${"{},".repeat(250_000)}{}]`);
  const excessive = await createFrom(database, accountId, values);
  expect((await find(excessive))?.errors).toMatchObject([{ message: "The line must have at most 400000 JSON values.", line: 1 }]);
  const commas = await createFrom(database, accountId, line(1).replace('"m"', `"m","x":"\\"${"{,[".repeat(250_000)}"`));
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
