import { DatabaseError } from "pg";
import { expect, test } from "vitest";
import { createRecordRoom } from "../../../../extproc/prompt-log/room.ts";
import { createRecordQueue, type FinishedRecord, type RecordResult } from "../../../../extproc/prompt-log/write-queue.ts";
import { createPromptSealer } from "../../../../ledger/prompt-log/content.ts";
import type { NewRecord } from "../../../../ledger/prompt-log/write-records.ts";

const TEXT = { text: Buffer.from("hello"), bytes: 5, isCut: false };

const sealer = createPromptSealer(Buffer.alloc(32, 1));

function open(write: (batch: readonly NewRecord[]) => Promise<number>, seal = sealer.seal) {
  const room = createRecordRoom();
  const counts: Partial<Record<RecordResult, number>> = {};
  let failures = 0;
  const queue = createRecordQueue({
    write,
    seal,
    onResult: (result, records) => (counts[result] = (counts[result] ?? 0) + records),
    onFailed: () => (failures += 1),
    onWritten() {},
  });
  function add(requestId: string, accountId = "acme"): void {
    const taken = room.take(accountId, 1_000);
    if (taken === null) throw new Error("there is room");
    const record: FinishedRecord = {
      accountId,
      keyId: "AbCd5678WxYz",
      requestId,
      startedAt: new Date(0),
      interface: "chat",
      model: "m",
      isStream: false,
      status: 200,
      isWhole: true,
      content: { request: TEXT, answer: TEXT },
      room: taken,
    };
    queue.add(record);
  }
  return { queue, add, room, counts, failures: () => failures };
}

test("records are written in batches, encrypted for their request alone", async () => {
  const batches: (readonly NewRecord[])[] = [];
  const { queue, add, room, counts } = open(async (batch) => batches.push(batch) && batch.length);
  for (let each = 0; each < 250; each += 1) add(`request ${each}`);
  await queue.drain(5_000);
  expect(batches.map(({ length }) => length)).toEqual([100, 100, 50]);
  const record = batches[0]?.[7];
  expect(record).toMatchObject({ requestId: "request 7", requestBytes: 5, answerBytes: 5 });
  const content = record?.content ?? Buffer.alloc(0);
  expect(content.includes("hello")).toBe(false);
  const position = { accountId: "acme", keyId: "AbCd5678WxYz", requestId: "request 7" };
  expect(await sealer.open(position, content)).toEqual({ request: TEXT, answer: TEXT });
  await expect(sealer.open({ ...position, requestId: "request 8" }, content)).rejects.toThrow("another pepper");
  expect(counts).toEqual({ stored: 250 });
  expect(room.bytes).toBe(0);
});

test("a database that is away loses records, and counts them", async () => {
  let isAway = true;
  const { queue, add, room, counts, failures } = open(
    async (batch) => {
      if (isAway) throw new Error("away");
      return batch.length - 1;
    },
    async () => Buffer.from("sealed"),
  );
  for (let each = 0; each < 5_100; each += 1) add(`request ${each}`, `account-${each % 5}`);
  expect(counts).toEqual({ no_room: 100 });
  await queue.drain(10_000);
  expect(counts).toEqual({ no_room: 100, failed: 5_000 });
  expect(failures()).toBe(50);
  expect(room.bytes).toBe(0);
  isAway = false;
  add("one");
  add("two");
  await queue.drain(5_000);
  expect(counts).toEqual({ no_room: 100, failed: 5_000, stored: 1, unwanted: 1 });
});

test("an account that fills its share of the queue does not keep the others from recording (S40)", async () => {
  const { queue, add, room, counts } = open(
    async (batch) => batch.length,
    async () => Buffer.from("sealed"),
  );
  for (let each = 0; each < 6_000; each += 1) add(`request ${each}`);
  expect(counts).toEqual({ no_room: 4_750 });
  for (let each = 0; each < 1_250; each += 1) add(`request ${each}`, "other");
  expect(counts).toEqual({ no_room: 4_750 });
  await queue.drain(10_000);
  expect(counts).toEqual({ no_room: 4_750, stored: 2_500 });
  // What was written leaves its place to further ones.
  for (let each = 0; each < 1_250; each += 1) add(`later ${each}`);
  await queue.drain(10_000);
  expect(counts).toEqual({ no_room: 4_750, stored: 3_750 });
  expect(room.bytes).toBe(0);
});

test("a record that Postgres rejects is lost alone", async () => {
  const written: string[] = [];
  const { queue, add, room, counts } = open(async (batch) => {
    if (batch.some(({ requestId }) => requestId === "request 42"))
      throw Object.assign(new DatabaseError("out of range", 0, "error"), { code: "22003" });
    written.push(...batch.map(({ requestId }) => requestId));
    return batch.length;
  });
  for (let each = 0; each < 100; each += 1) add(`request ${each}`);
  await queue.drain(5_000);
  expect(counts).toEqual({ stored: 99, failed: 1 });
  expect(new Set(written).size).toBe(99);
  expect(room.bytes).toBe(0);
});
