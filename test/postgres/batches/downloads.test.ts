import { expect, test } from "vitest";
import { prepareOne } from "../../../dashboard/batches/prepare.ts";
import { endOne } from "../../../dashboard/batches/end.ts";
import { cancelBatch, createBatch, type BatchKind } from "../../../ledger/batches/batches.ts";
import { createBatchContent } from "../../../ledger/batches/content.ts";
import { beginUpload, resultFileId } from "../../../ledger/batches/files.ts";
import { addRequests, startBatch } from "../../../ledger/batches/requests.ts";
import { createBatchRoom } from "../../../ledger/batches/room.ts";
import type { Database } from "../../../ledger/postgres/database.ts";
import { PEPPER, seedLedger } from "../../support/billing/ledger.ts";
import { usePostgres } from "../../support/billing/postgres.ts";
import { openDashboard } from "../../support/dashboard/dashboard.ts";

/** Files and results that are deleted, or expire, while somebody downloads them (S58). */
const postgres = usePostgres();

const content = createBatchContent(PEPPER);
const room = createBatchRoom({ maxBytes: 1024 ** 3 });
const LINES = [1, 2].map(
  (id) => `${JSON.stringify({ custom_id: `r${id}`, method: "POST", url: "/v1/chat/completions", body: { model: "m" } })}\n`,
);

async function open() {
  const { database } = await postgres.migrated();
  const { accountId, key } = await seedLedger(database);
  const { app } = await openDashboard(database);
  const download = (url: string, headers: Record<string, string> = {}) =>
    app.inject({ url, headers: { authorization: `Bearer ${key}`, ...headers } });
  return { database, accountId, download };
}

async function end(database: Database, batch: { accountId: string; id: string; kind: BatchKind }): Promise<void> {
  await cancelBatch(database, batch);
  await endOne({ database, content });
}

test("a download of a file that is deleted meanwhile breaks off (S58)", async () => {
  const { database, accountId, download } = await open();
  const upload = await beginUpload(database, { accountId, bytes: 1_000, room, content });
  for (const line of LINES) await upload.add(Buffer.from(line));
  await upload.complete({ name: "requests.jsonl", keptSeconds: 3_600 });
  const url = `/v1/files/${upload.fileId}/content`;
  expect((await download(url)).body).toBe(LINES.join(""));
  // As upkeep does it, part by part.
  await database.execute("DELETE FROM batch_file_part WHERE number = 1");
  await expect(download(url)).rejects.toThrow("destroyed");
});

test("a download of results that are deleted meanwhile breaks off (S58)", async () => {
  const { database, accountId, download } = await open();
  const upload = await beginUpload(database, { accountId, bytes: 1_000, room, content });
  for (const line of LINES) await upload.add(Buffer.from(line));
  await upload.complete({ name: "requests.jsonl", keptSeconds: 3_600 });
  const batch = { accountId, keyId: "key", kind: "batch", interface: "chat", inputFileId: upload.fileId } as const;
  const id = await createBatch(database, { ...batch, bytes: 1_000, room });
  await prepareOne({ database, content });
  await end(database, { accountId, id, kind: "batch" });
  const url = `/v1/files/${resultFileId(id, "error")}/content`;
  expect((await download(url)).body.trim().split("\n")).toHaveLength(2);
  await database.execute("UPDATE batch_request SET result = NULL WHERE number = 2");
  await expect(download(url)).rejects.toThrow("destroyed");
});

test("a download of results of messages that are deleted meanwhile breaks off (S58)", async () => {
  const { database, accountId, download } = await open();
  const kind = "msgbatch";
  const id = await createBatch(database, { accountId, keyId: "key", kind, interface: "messages", bytes: 1_000, room });
  const requests = [1, 2].map((number) => ({ number, customId: `r${number}`, body: Buffer.from('{"model":"m"}') }));
  await addRequests(database, { batchId: id, requests, content });
  await startBatch(database, { batchId: id, requests: 2, bytes: 1_000 });
  await end(database, { accountId, id, kind });
  const url = `/v1/messages/batches/${id}/results`;
  const version = { "anthropic-version": "2023-06-01" };
  expect((await download(url, version)).body.trim().split("\n")).toHaveLength(2);
  await database.execute("DELETE FROM batch_request WHERE number = 2");
  await expect(download(url, version)).rejects.toThrow("destroyed");
});
