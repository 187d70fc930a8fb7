import { expect, test } from "vitest";
import type { Settlement } from "../../../../ledger/settlement/settlement.ts";
import { createSettlementQueue, type SettlementQueue } from "../../../../ledger/settlement/settlement-queue.ts";
import { settlementOf } from "../../../support/billing/ledger.ts";

function settlementsOf(accountId: string, count: number): Settlement[] {
  return Array.from({ length: count }, () => settlementOf({ accountId, keyId: "key" }));
}

function queueOf(settlements: readonly Settlement[]): SettlementQueue {
  const queue = createSettlementQueue();
  for (const settlement of settlements) queue.add(settlement);
  return queue;
}

/** Takes and lands a batch. */
function land(queue: SettlementQueue, most: number): string[] {
  const batch = queue.take(most);
  for (const settlement of batch) queue.delete(settlement);
  return batch.map(({ accountId }) => accountId);
}

test("a batch contains whole accounts, however their settlements interleaved", () => {
  const [a, b, c] = [settlementsOf("a", 3), settlementsOf("b", 3), settlementsOf("c", 3)];
  const queue = queueOf([0, 1, 2].flatMap((at) => [a, b, c].flatMap((each) => each[at] ?? [])));
  expect(queue.size).toBe(9);
  expect(land(queue, 6)).toEqual(["a", "a", "a", "b", "b", "b"]);
  expect(land(queue, 6)).toEqual(["c", "c", "c"]);
  expect(queue.size).toBe(0);
  expect(queue.take(6)).toEqual([]);
});

test("an account that is cut off comes next", () => {
  const queue = queueOf([...settlementsOf("a", 2), ...settlementsOf("b", 3), ...settlementsOf("c", 1)]);
  expect(land(queue, 3)).toEqual(["a", "a", "b"]);
  expect(land(queue, 3)).toEqual(["b", "b", "c"]);
});

test("an account with more than a batch lets others have their turn", () => {
  const queue = queueOf([...settlementsOf("busy", 10), ...settlementsOf("quiet", 1)]);
  expect(land(queue, 3)).toEqual(["busy", "busy", "busy"]);
  for (const settlement of settlementsOf("busy", 10)) queue.add(settlement);
  expect(land(queue, 3)).toEqual(["quiet", "busy", "busy"]);
});

test("settlements in progress wait until they are deleted, and are counted once however often they are added or deleted", () => {
  const [first, second] = settlementsOf("a", 2);
  if (first === undefined || second === undefined) throw new Error("two were made");
  const queue = queueOf([first, first, second]);
  expect(queue.take(1)).toEqual([first]);
  expect(queue.take(5)).toEqual([first, second]);
  expect([...queue]).toEqual([first, second]);
  queue.delete(first);
  queue.delete(first);
  expect(queue.size).toBe(1);
  queue.add(first);
  expect(new Set(queue)).toEqual(new Set([first, second]));
});
