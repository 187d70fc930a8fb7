import { expect, test, vi } from "vitest";
import {
  createWriteQueue,
  MAX_STORED_BYTES,
  type FinishedResponse,
  type StoreResult,
  type WriteQueueDeps,
} from "../../../../extproc/stored-responses/write-queue.ts";
import type { NewResponse } from "../../../../ledger/responses/write-responses.ts";

function queueWith(write: WriteQueueDeps["write"]) {
  const results = new Map<StoreResult, number>();
  const queue = createWriteQueue({
    write,
    seal: (plain, { part }) => Buffer.concat([Buffer.from(`${part}:`), plain]),
    onResult: (result, responses) => void results.set(result, (results.get(result) ?? 0) + responses),
    onFailed: () => {},
    onWritten: () => {},
  });
  return { queue, results };
}

function finished(id: string, changes: Partial<FinishedResponse> = {}): FinishedResponse {
  const response = Buffer.from(JSON.stringify({ id, output: [{ id: `msg_${id}` }, { id: "not an id" }, {}] }));
  const input = Buffer.from("[]");
  return { accountId: "acme", storeHours: 2, previousResponseId: null, usedResponseIds: ["r0"], input, response, ...changes };
}

test("responses are sealed, and written with their ids in one batch", async () => {
  const batches: (readonly NewResponse[])[] = [];
  const { queue, results } = queueWith(async (batch) => (batches.push(batch), new Set()));
  queue.add(finished("r1"));
  queue.add(finished("r2", { accountId: "other" }));
  await queue.written("acme");
  expect(batches).toHaveLength(1);
  expect(batches[0]?.map(({ responseId, itemIds }) => [responseId, itemIds])).toEqual([
    ["r1", ["msg_r1"]],
    ["r2", ["msg_r2"]],
  ]);
  expect(String(batches[0]?.[0]?.input)).toBe("input:[]");
  expect([...results]).toEqual([["stored", 2]]);
});

test("an account beyond its bounds is counted, the others are stored", async () => {
  const { queue, results } = queueWith(async () => new Set(["greedy"]));
  for (const accountId of ["greedy", "acme"]) queue.add(finished("r1", { accountId }));
  await queue.written("acme");
  expect([...results]).toEqual([
    ["over_limit", 1],
    ["stored", 1],
  ]);
});

test("a response that is too large, or has no id, is not stored", async () => {
  const { queue, results } = queueWith(async () => new Set());
  queue.add(finished("r1", { input: Buffer.alloc(MAX_STORED_BYTES) }));
  queue.add(finished("r 1"));
  await queue.written("acme");
  expect([...results]).toEqual([["unfit", 2]]);
});

test("a database that does not answer blocks nothing: one account fills its part of the queue, another still has room", () => {
  const { queue, results } = queueWith(() => new Promise(() => {}));
  const input = Buffer.alloc(MAX_STORED_BYTES - 1_000);
  for (let count = 0; count < 5; count += 1) queue.add(finished(`r${count}`, { input }));
  expect(results.get("queue_full")).toBe(3);
  queue.add(finished("r1", { accountId: "other", input }));
  expect(results.get("queue_full")).toBe(3);
  for (const accountId of ["third", "fourth"]) queue.add(finished("r1", { accountId, input }));
  expect(results.get("queue_full")).toBe(4);
});

test("a failed write is retried, and dropped in the end without blocking the next", async () => {
  vi.useFakeTimers();
  try {
    let attempts = 0;
    const { queue, results } = queueWith(async () => {
      attempts += 1;
      if (attempts !== 2 && attempts < 8) throw new Error("away");
      return new Set();
    });
    queue.add(finished("r1"));
    await vi.advanceTimersByTimeAsync(10_000);
    expect([...results]).toEqual([["stored", 1]]);
    queue.add(finished("r2"));
    await vi.advanceTimersByTimeAsync(20_000);
    expect(results.get("failed")).toBe(1);
    queue.add(finished("r3"));
    await vi.advanceTimersByTimeAsync(20_000);
    expect(results.get("stored")).toBe(2);
  } finally {
    vi.useRealTimers();
  }
});

test("draining writes everything queued", async () => {
  const written: string[] = [];
  const { queue } = queueWith(async (batch) => (written.push(...batch.map(({ responseId }) => responseId)), new Set()));
  for (const id of ["r1", "r2"]) queue.add(finished(id));
  await queue.drain(1_000);
  expect(written).toEqual(["r1", "r2"]);
});
