import { ftruncateSync, openSync, writeSync } from "node:fs";
import { readdir } from "node:fs/promises";
import fc from "fast-check";
import { expect, test, vi } from "vitest";
import { readJournal } from "../../../../extproc/journal/read-journal.ts";
import type { SegmentFiles } from "../../../../extproc/journal/segments.ts";
import type { Settlement } from "../../../../ledger/settlement/settlement.ts";
import { NO_DAMAGE, openTestJournal, startOf } from "../../../support/billing/journal.ts";
import { settlementOf } from "../../../support/billing/ledger.ts";

const customer = { accountId: "acme", keyId: "key" };
const usage = { inputTokens: 10, cachedInputTokens: 0, cacheWriteTokens: 0, outputTokens: 5, reasoningTokens: 0 };

interface Disk {
  /** Bytes that it still takes. */
  room: number;
  hasInodes: boolean;
  canTruncate: boolean;
}

const WELL: Disk = { room: Infinity, hasInodes: true, canTruncate: true };

/** Real files on a disk that runs full, as a write to a full file system does: in part first, then not at all. */
function filesOn(disk: Disk): SegmentFiles {
  return {
    open(file) {
      if (!disk.hasInodes) throw noSpace();
      return openSync(file, "ax", 0o600);
    },
    write(descriptor, bytes, from) {
      if (disk.room <= 0) throw noSpace();
      const count = Math.min(bytes.length - from, disk.room);
      disk.room -= count;
      return writeSync(descriptor, bytes, from, count);
    },
    truncate(descriptor, bytes) {
      if (!disk.canTruncate) throw noSpace();
      ftruncateSync(descriptor, bytes);
    },
  };
}

function noSpace(): Error {
  return Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" });
}

const refusal = expect.objectContaining({ code: "billing_unavailable" });

test("a full disk refuses new requests, and ended ones are written as soon as there is room (S39)", async () => {
  const disk = { ...WELL };
  const onRestored = vi.fn();
  const { journal, directory, failures } = await openTestJournal({ files: filesOn(disk), onRestored });
  const [ended, running, refused, next] = Array.from({ length: 4 }, () => settlementOf(customer));
  if (ended === undefined || running === undefined || refused === undefined || next === undefined) throw new Error("four");
  journal.start(startOf(ended));
  journal.start(startOf(running));

  disk.room = 100;
  journal.end(ended);
  journal.checkpoint({ requestId: running.requestId, usage, durationMs: 1, firstTokenMs: 1 });
  expect(journal.isFailing).toBe(true);
  expect(failures).toHaveLength(1);
  expect(() => journal.start(startOf(refused))).toThrow(refusal);
  // The half that was written is cut off again.
  expect((await readJournal(directory)).damage).toEqual(NO_DAMAGE);

  disk.room = Infinity;
  await expect.poll(() => journal.isFailing).toBe(false);
  expect(onRestored).toHaveBeenCalledOnce();
  journal.start(startOf(next));
  const { settlements, damage } = await readJournal(directory);
  expect(settlements).toMatchObject([
    { requestId: ended.requestId, outcome: "complete" },
    { requestId: running.requestId, outcome: "lost", usage },
    { requestId: next.requestId, outcome: "lost" },
  ]);
  expect(damage).toEqual(NO_DAMAGE);
});

test("with neither space nor inodes nor a way to truncate a torn record, nothing is written after it except in a new segment", async () => {
  const disk = { ...WELL };
  const { journal, directory } = await openTestJournal({ files: filesOn(disk) });
  const settlements = Array.from({ length: 6 }, () => settlementOf(customer));
  const [torn, ...others] = settlements;
  if (torn === undefined) throw new Error("six");
  for (const settlement of settlements) journal.start(startOf(settlement));
  Object.assign(disk, { room: 10, hasInodes: false, canTruncate: false });
  journal.end(torn);
  for (const settlement of others) journal.end(settlement);
  disk.room = Infinity;
  expect((await readdir(directory)).toSorted()).toEqual(["00000001.journal", "owner.json"]);
  disk.hasInodes = true;
  await expect.poll(() => journal.isFailing).toBe(false);
  const read = await readJournal(directory);
  expect(new Set(read.settlements)).toEqual(new Set(settlements));
  expect(read.damage).toMatchObject({ records: 1, bytes: 10, segments: ["00000001.journal"] });
});

test("without an inode for a new segment a full one is extended", async () => {
  const disk = { ...WELL };
  const { journal, directory, failures } = await openTestJournal({ files: filesOn(disk), segmentBytes: 1 });
  disk.hasInodes = false;
  const settlements = Array.from({ length: 3 }, () => settlementOf(customer));
  for (const settlement of settlements) {
    journal.start(startOf(settlement));
    journal.end(settlement);
  }
  expect(failures).toHaveLength(1);
  expect((await readJournal(directory)).settlements).toEqual(settlements);
});

test("on a disk that is full from the start the journal begins as soon as there is room: older journals may fill it", async () => {
  const disk = { ...WELL, hasInodes: false };
  const { journal, directory } = await openTestJournal({ files: filesOn(disk) });
  const settlement = settlementOf(customer);
  expect(() => journal.start(startOf(settlement))).toThrow(refusal);
  disk.hasInodes = true;
  journal.start(startOf(settlement));
  expect((await readJournal(directory)).settlements).toHaveLength(1);
});

test("a record that is too long for any disk does not block others", async () => {
  const { journal, directory, failures } = await openTestJournal();
  const long = settlementOf(customer, { backend: "x".repeat(16_000) });
  expect(() => journal.start(startOf({ ...long, backend: "x".repeat(20_000) }))).toThrow(refusal);
  journal.start(startOf(long));
  journal.end({ ...long, model: "y".repeat(1_000) });
  expect(failures).toHaveLength(1);
  expect(journal.isFailing).toBe(false);
  journal.start(startOf(settlementOf(customer)));
  expect((await readJournal(directory)).settlements).toHaveLength(2);
});

test("records that Postgres already has are not written again", async () => {
  const disk = { ...WELL };
  const { journal, directory } = await openTestJournal({ files: filesOn(disk) });
  const settlement = settlementOf(customer);
  journal.start(startOf(settlement));
  disk.room = 0;
  journal.end(settlement);
  journal.committed([settlement]);
  disk.room = Infinity;
  journal.start(startOf(settlementOf(customer)));
  expect(journal.isFailing).toBe(false);
  expect((await readJournal(directory)).settlements.map(({ outcome }) => outcome)).toEqual(["lost", "lost"]);
});

test("however a disk fails, each admitted request is charged once in the end", { timeout: 60_000 }, async () => {
  const trouble: fc.Arbitrary<Partial<Disk>> = fc.record(
    { room: fc.oneof(fc.nat(600), fc.constant(Infinity)), hasInodes: fc.boolean(), canTruncate: fc.boolean() },
    { requiredKeys: [] },
  );
  await fc.assert(
    fc.asyncProperty(fc.array(trouble, { maxLength: 30 }), fc.integer({ min: 1, max: 2_000 }), async (troubles, segmentBytes) => {
      const disk = { ...WELL };
      const { journal, directory } = await openTestJournal({ files: filesOn(disk), segmentBytes });
      const first = settlementOf(customer);
      journal.start(startOf(first));
      const running = [first];
      const admitted = [first];
      for (const [index, change] of troubles.entries()) {
        Object.assign(disk, change);
        const settlement = settlementOf(customer);
        const isAdmitted = tryTo(() => journal.start(startOf(settlement)));
        if (isAdmitted) {
          running.push(settlement);
          admitted.push(settlement);
        }
        for (const { requestId } of running) journal.checkpoint({ requestId, usage, durationMs: index, firstTokenMs: 1 });
        for (const ended of running.splice(0, index % 3)) journal.end(ended);
      }
      Object.assign(disk, WELL);
      for (const settlement of running) journal.end(settlement);
      await journal.close();
      const { settlements } = await readJournal(directory);
      expect(settlements.toSorted(byId)).toEqual(admitted.toSorted(byId));
    }),
    { numRuns: 100 },
  );
});

function tryTo(work: () => void): boolean {
  try {
    work();
    return true;
  } catch {
    return false;
  }
}

function byId(one: Settlement, other: Settlement): number {
  return one.requestId < other.requestId ? -1 : 1;
}
