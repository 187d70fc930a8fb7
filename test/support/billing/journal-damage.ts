import { readdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { isSegment } from "../../../extproc/journal/read-journal.ts";
import { decodeRecord, settleLost, type JournalRecord } from "../../../extproc/journal/record.ts";
import type { Settlement } from "../../../ledger/settlement/settlement.ts";
import { below, type Random } from "../random.ts";

const HEADER_BYTES = 8;

/** The undamaged records of each request in a journal; null if none are left. */
export type Survivors = Map<string, Pick<Settlement, "chargeNanoUsd" | "outcome"> | null>;

/**
 * Damages one segment of a journal that nobody writes any more, as a disk or a power cut does.
 * @returns what every request of this journal can still be charged by, worked out from which bytes changed and not by
 *   the reader that recovery uses.
 */
export async function damageJournal(directory: string, random: Random): Promise<Survivors> {
  const survivors: Survivors = new Map();
  const ends = new Set<string>();
  const segments = (await readdir(directory)).filter(isSegment).sort();
  const victim = segments[below(random, Math.max(1, segments.length))];
  for (const segment of segments) {
    const file = path.join(directory, segment);
    const bytes = await readFile(file);
    const left = segment === victim && bytes.length > 0 ? damage(bytes, random) : bytes;
    if (left !== bytes) await writeFile(file, left);
    for (const { from, to, record } of recordsOf(bytes)) {
      const isWhole = left.subarray(from, to).equals(bytes.subarray(from, to));
      note(record, isWhole);
    }
  }
  return survivors;

  function note(record: JournalRecord, isWhole: boolean): void {
    const requestId = requestOf(record);
    if (!survivors.has(requestId)) survivors.set(requestId, null);
    if (!isWhole || ends.has(requestId)) return;
    // Charges do not depend on labels, and none of these requests was sent with a provider key.
    if (record.type === "labels" || record.type === "provider_key") return;
    if (record.type === "end") {
      ends.add(requestId);
      survivors.set(requestId, record.settlement);
    } else if (record.type === "start") survivors.set(requestId, settleLost(record.run, undefined));
    else if (record.run !== undefined) survivors.set(requestId, settleLost(record.run, record.checkpoint));
  }
}

function damage(bytes: Buffer, random: Random): Buffer {
  const at = below(random, bytes.length);
  const copy = Buffer.from(bytes);
  switch (below(random, 3)) {
    case 0:
      copy[at] = (copy[at] ?? 0) ^ (1 << below(random, 8));
      return copy;
    case 1:
      return copy.fill(0, at, Math.min(bytes.length, at + 1 + below(random, 4_096)));
    default:
      return copy.subarray(0, at);
  }
}

function* recordsOf(bytes: Buffer): Generator<{ from: number; to: number; record: JournalRecord }> {
  for (let from = 0; from < bytes.length;) {
    const to = from + HEADER_BYTES + bytes.readUInt32LE(from);
    yield { from, to, record: decodeRecord(bytes.toString("utf8", from + HEADER_BYTES, to)) };
    from = to;
  }
}

function requestOf(record: JournalRecord): string {
  switch (record.type) {
    case "start":
      return record.run.requestId;
    case "checkpoint":
      return record.checkpoint.requestId;
    case "end":
      return record.settlement.requestId;
    case "labels":
    case "provider_key":
      return record.requestId;
  }
}
