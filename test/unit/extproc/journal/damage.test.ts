import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { expect, test } from "vitest";
import { encodeFrame } from "../../../../extproc/journal/frame.ts";
import { openJournal } from "../../../../extproc/journal/journal.ts";
import { readJournal } from "../../../../extproc/journal/read-journal.ts";
import { settleLost, type Checkpoint } from "../../../../extproc/journal/record.ts";
import type { Settlement } from "../../../../ledger/settlement/settlement.ts";
import { makeRoot, NO_DAMAGE, startOf } from "../../../support/billing/journal.ts";
import { settlementOf } from "../../../support/billing/ledger.ts";

const SEGMENT = "00000001.journal";

type Kind = "start" | "checkpoint" | "end";

interface Step {
  attempt: number;
  kind: Kind;
}

/** One record, and which bytes of the segment it is. */
interface Written {
  kind: Kind;
  from: number;
  to: number;
  settlement: Settlement;
  checkpoint: Checkpoint;
}

/** A few attempts side by side; the records of each are in their order. */
const someSteps: fc.Arbitrary<Step[]> = fc
  .array(fc.record({ checkpoints: fc.nat(2), isEnded: fc.boolean() }), { minLength: 1, maxLength: 6 })
  .map((attempts) =>
    attempts.flatMap(({ checkpoints, isEnded }, attempt): Step[] => [
      { attempt, kind: "start" },
      ...Array.from({ length: checkpoints }, (): Step => ({ attempt, kind: "checkpoint" })),
      ...(isEnded ? [{ attempt, kind: "end" } satisfies Step] : []),
    ]),
  )
  .chain((steps) => fc.array(fc.nat(), { minLength: steps.length, maxLength: steps.length }).map(interleave(steps)));

function interleave(steps: readonly Step[]): (turns: readonly number[]) => Step[] {
  return (turns) => {
    const queues = [...Map.groupBy(steps, ({ attempt }) => attempt).values()];
    return turns.flatMap((turn) => {
      const waiting = queues.filter((queue) => queue.length > 0);
      return waiting[turn % waiting.length]?.splice(0, 1) ?? [];
    });
  };
}

type Damage =
  | { type: "flipped bit"; at: number; bit: number }
  | { type: "changed byte"; at: number; value: number }
  | { type: "torn tail"; at: number }
  | { type: "zeros over it"; at: number; count: number }
  | { type: "zeros in between"; at: number; count: number }
  | { type: "garbage in between"; at: number; garbage: Uint8Array }
  | { type: "a piece of itself in between"; at: number; from: number; count: number };

const at = fc.double({ min: 0, max: 0.9999, noNaN: true });
const someDamage: fc.Arbitrary<Damage> = fc.oneof(
  fc.record({ type: fc.constant("flipped bit" as const), at, bit: fc.nat(7) }),
  fc.record({ type: fc.constant("changed byte" as const), at, value: fc.nat(255) }),
  fc.record({ type: fc.constant("torn tail" as const), at }),
  fc.record({ type: fc.constant("zeros over it" as const), at, count: fc.integer({ min: 1, max: 2_000 }) }),
  fc.record({ type: fc.constant("zeros in between" as const), at, count: fc.integer({ min: 1, max: 8_192 }) }),
  fc.record({ type: fc.constant("garbage in between" as const), at, garbage: fc.uint8Array({ minLength: 1, maxLength: 64 }) }),
  fc.record({
    type: fc.constant("a piece of itself in between" as const),
    at,
    from: at,
    // Shorter than a record: a whole one twice says nothing new, unless it is an old checkpoint behind a later one.
    count: fc.integer({ min: 1, max: 100 }),
  }),
);

/** @returns the damaged bytes, and whether the damage has touched the bytes from `from` to `to`. */
function apply(damage: Damage, bytes: Buffer): { damaged: Buffer; touches(from: number, to: number): boolean } {
  const position = Math.floor(damage.at * bytes.length);
  const overwritten = (damaged: Buffer) => ({
    damaged,
    touches: (from: number, to: number) => !damaged.subarray(from, to).equals(bytes.subarray(from, to)),
  });
  const inserted = (piece: Uint8Array) => ({
    damaged: Buffer.concat([bytes.subarray(0, position), piece, bytes.subarray(position)]),
    touches: (from: number, to: number) => from < position && position < to,
  });
  const copy = Buffer.from(bytes);
  switch (damage.type) {
    case "flipped bit":
      copy[position] = (copy[position] ?? 0) ^ (1 << damage.bit);
      return overwritten(copy);
    case "changed byte":
      copy[position] = damage.value;
      return overwritten(copy);
    case "torn tail":
      return overwritten(copy.subarray(0, position));
    case "zeros over it":
      return overwritten(copy.fill(0, position, Math.min(bytes.length, position + damage.count)));
    case "zeros in between":
      return inserted(Buffer.alloc(damage.count));
    case "garbage in between":
      return inserted(damage.garbage);
    case "a piece of itself in between": {
      const from = Math.floor(damage.from * bytes.length);
      return inserted(bytes.subarray(from, from + damage.count));
    }
  }
}

/** What must be charged if just these records can be read: each request once. */
function charged(records: readonly Written[]): Map<string, Settlement> {
  const settlements = new Map<string, Settlement>();
  for (const [requestId, group] of Map.groupBy(records, ({ settlement }) => settlement.requestId)) {
    const [one] = group;
    if (one === undefined) continue;
    const isEnded = group.some(({ kind }) => kind === "end");
    const checkpoint = group.findLast(({ kind }) => kind === "checkpoint")?.checkpoint;
    settlements.set(requestId, isEnded ? one.settlement : settleLost(startOf(one.settlement), checkpoint));
  }
  return settlements;
}

/** A segment, as a journal writes it. */
async function write(root: string, holder: string, steps: readonly Step[]): Promise<{ bytes: Buffer; written: Written[] }> {
  const journal = await openJournal({ root, holder, onFailed: (error) => expect.fail(String(error)) });
  const settlements = new Map<number, Settlement>();
  const written = steps.map(({ attempt, kind }, index): Written => {
    const settlement = settlements.get(attempt) ?? settlementOf({ accountId: "acme", keyId: "key" }, { isStream: true });
    settlements.set(attempt, settlement);
    const { requestId, usage } = settlement;
    const checkpoint = { requestId, usage: { ...usage, outputTokens: index }, durationMs: index, firstTokenMs: 1 };
    const from = journal.bytes;
    if (kind === "start") journal.start(startOf(settlement));
    else if (kind === "checkpoint") journal.checkpoint(checkpoint);
    else journal.end(settlement);
    return { kind, from, to: journal.bytes, settlement, checkpoint };
  });
  await journal.close();
  return { bytes: await readFile(path.join(root, holder, SEGMENT)), written };
}

test(
  "everything outside a damaged record is charged exactly once: one bad byte, a torn tail, zeros, garbage (S39)",
  { timeout: 120_000 },
  async () => {
    const root = await makeRoot();
    let journals = 0;
    await fc.assert(
      fc.asyncProperty(someSteps, fc.array(someDamage, { minLength: 1, maxLength: 12 }), async (steps, damages) => {
        const holder = String(++journals);
        const { bytes, written } = await write(root, holder, steps);
        const whole = charged(written);
        for (const damage of damages) {
          const { damaged, touches } = apply(damage, bytes);
          await writeFile(path.join(root, holder, SEGMENT), damaged);
          const read = await readJournal(path.join(root, holder));

          const ids = read.settlements.map(({ requestId }) => requestId);
          expect(new Set(ids).size).toBe(ids.length);
          const left = charged(written.filter(({ from, to }) => !touches(from, to)));
          const settled = new Map(read.settlements.map((settlement) => [settlement.requestId, settlement]));
          // Damage may leave a record readable: what was put in may be what was there.
          for (const [requestId, settlement] of whole)
            expect([left.get(requestId), settlement]).toContainEqual(settled.get(requestId));
          // A tail that is torn between two records is no damage that anyone could see.
          const isSeen = read.damage.records > 0 || damage.type === "torn tail";
          expect(isSeen || isDeepStrictEqual(settled, whole)).toBe(true);
        }
      }),
      { numRuns: 60 },
    );
  },
);

test("an undamaged journal is read without errors", async () => {
  const root = await makeRoot();
  const { written } = await write(root, "one", [
    { attempt: 1, kind: "start" },
    { attempt: 1, kind: "checkpoint" },
    { attempt: 1, kind: "end" },
  ]);
  const { settlements, damage } = await readJournal(path.join(root, "one"));
  expect(settlements).toEqual(written.slice(0, 1).map(({ settlement }) => settlement));
  expect(damage).toEqual(NO_DAMAGE);
});

const [run, other] = [settlementOf({ accountId: "acme", keyId: "key" }), settlementOf({ accountId: "acme", keyId: "key" })];
const usage = { inputTokens: 10, cachedInputTokens: 0, cacheWriteTokens: 0, outputTokens: 5, reasoningTokens: 0 };

/** Frames with these records beside a good journal of two requests, of which one has ended. */
async function readBeside(records: readonly unknown[]): Promise<Awaited<ReturnType<typeof readJournal>>> {
  const root = await makeRoot();
  const journal = await openJournal({ root, holder: "one", onFailed: (error) => expect.fail(String(error)) });
  journal.start(startOf(run));
  journal.checkpoint({ requestId: run.requestId, usage, durationMs: 1, firstTokenMs: 1 });
  journal.end(other);
  const file = path.join(root, "one", SEGMENT);
  const frames = records.map((record) => encodeFrame(typeof record === "string" ? record : JSON.stringify(record)));
  await writeFile(file, Buffer.concat([...frames, await readFile(file), ...frames]));
  return readJournal(path.join(root, "one"));
}

const { requestId } = run;
const noted = { requestId, usage, durationMs: 2, firstTokenMs: 1 };
test.for([
  ["a count above 2^53", ["checkpoint", { ...noted, usage: { ...usage, outputTokens: 2 ** 60 } }]],
  ["a count below zero", ["checkpoint", { ...noted, usage: { ...usage, outputTokens: -1 } }]],
  ["a count of no tokens at all", ["checkpoint", { ...noted, usage: { ...usage, outputTokens: null } }]],
  ["a part of a token", ["checkpoint", { ...noted, usage: { ...usage, outputTokens: 0.5 } }]],
  ["more tokens than any request has", ["checkpoint", { ...noted, usage: { ...usage, outputTokens: 1e15 } }]],
  ["another request's start inside", ["checkpoint", { ...noted, run: [["not", "a", "run"], []] }]],
  ["a kind of a later version", ["later", {}]],
  ["no kind", []],
  ["no list", null],
  ["no JSON", '["end",'],
  [
    "a negative charge",
    [
      "end",
      [requestId, 1, "acme", "key", "m", "chat", "chat", "b", "1", false, 1],
      [1, 0, 0, 1, 0],
      [false, "-5", null, 200, "complete", 1, null],
    ],
  ],
  [
    "a charge that no balance can hold",
    [
      "end",
      [requestId, 1, "acme", "key", "m", "chat", "chat", "b", "1", false, 1],
      [1, 0, 0, 1, 0],
      [false, "9".repeat(30), null, 200, "complete", 1, null],
    ],
  ],
  [
    "a time that no calendar has",
    [
      "end",
      [requestId, 1, "acme", "key", "m", "chat", "chat", "b", "1", false, 1e300],
      [1, 0, 0, 1, 0],
      [false, "5", null, 200, "complete", 1, null],
    ],
  ],
] as const)("a record with %s is left out, and all others count (S39)", async ([, record]) => {
  const { settlements, damage } = await readBeside([record]);
  expect(settlements).toEqual([other, settleLost(startOf(run), { ...noted, durationMs: 1 })]);
  expect(damage).toMatchObject({ records: 2, segments: [SEGMENT] });
});

test("a journal of an earlier version, whose checkpoints contain only the request id, is charged as last recorded", async () => {
  const { settlements, damage } = await readBeside([
    ["checkpoint", { ...noted, answeredBy: { backend: "b", upstreamProtocol: "messages" } }],
  ]);
  expect(settlements).toEqual([
    other,
    settleLost(startOf(run), { ...noted, answeredBy: { backend: "b", upstreamProtocol: "messages" } }),
  ]);
  expect(damage).toEqual(NO_DAMAGE);
});
