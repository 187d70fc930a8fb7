import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import type { Label } from "../../contract/labels.ts";
import type { Settlement } from "../../ledger/settlement/settlement.ts";
import { decodeFrames } from "./frame.ts";
import { decodeRecord, settleLost, type Checkpoint, type JournalRecord, type StartedRun } from "./record.ts";

export interface JournalContents {
  /** One for each attempt with any record: its end, or otherwise its latest valid checkpoint or start. */
  settlements: Settlement[];
  damage: JournalDamage;
}

/** The unreadable part (S39). */
export interface JournalDamage {
  /** Records with impossible values, and stretches of bytes without a complete record; at least one record each. */
  records: number;
  bytes: number;
  /** Names of the segments concerned. */
  segments: string[];
}

export const isSegment = (name: string) => name.endsWith(".journal");

/** Damage affects only the records it touches: reading continues after it. */
export async function readJournal(directory: string): Promise<JournalContents> {
  const attempts = createAttempts();
  const damage: JournalDamage = { records: 0, bytes: 0, segments: [] };
  for (const name of (await readdir(directory)).filter(isSegment).sort()) {
    const { records, bytes } = await readSegment(path.join(directory, name), attempts.note);
    if (records === 0) continue;
    damage.records += records;
    damage.bytes += bytes;
    damage.segments.push(name);
  }
  return { settlements: attempts.settlements(), damage };
}

async function readSegment(
  file: string,
  note: (record: JournalRecord) => void,
): Promise<Pick<JournalDamage, "records" | "bytes">> {
  let content: Buffer;
  try {
    content = await readFile(file);
  } catch {
    // The disk cannot read it: equivalent to complete damage.
    return { records: 1, bytes: 0 };
  }
  const { texts, gaps, brokenBytes } = decodeFrames(content);
  let impossible = 0;
  let impossibleBytes = 0;
  for (const text of texts) {
    const record = decodeOrNull(text);
    if (record !== null) {
      note(record);
      continue;
    }
    impossible++;
    impossibleBytes += Buffer.byteLength(text);
  }
  return { records: gaps + impossible, bytes: brokenBytes + impossibleBytes };
}

function decodeOrNull(text: string): JournalRecord | null {
  try {
    return decodeRecord(text);
  } catch {
    return null;
  }
}

/** Combines the records of each attempt. */
function createAttempts(): { note(record: JournalRecord): void; settlements(): Settlement[] } {
  const runs = new Map<string, StartedRun>();
  const checkpoints = new Map<string, Checkpoint>();
  const ended = new Map<string, Settlement>();
  const labels = new Map<string, Label[]>();
  const provided = new Map<string, Pick<StartedRun, "providerKey" | "price">>();
  return {
    note(record) {
      switch (record.type) {
        case "start":
          runs.set(record.run.requestId, record.run);
          break;
        case "checkpoint": {
          const { requestId } = record.checkpoint;
          checkpoints.set(requestId, record.checkpoint);
          if (record.run !== undefined) runs.set(requestId, record.run);
          break;
        }
        case "end":
          ended.set(record.settlement.requestId, record.settlement);
          break;
        case "labels":
          labels.set(record.requestId, record.labels);
          break;
        case "provider_key":
          provided.set(record.requestId, { providerKey: record.providerKey, price: record.price });
          break;
      }
    },
    settlements() {
      const lost = [...runs.values()]
        .filter(({ requestId }) => !ended.has(requestId))
        .map((run) => settleLost({ ...run, ...provided.get(run.requestId) }, checkpoints.get(run.requestId)));
      return [...ended.values(), ...lost].map((settlement) => {
        const { requestId } = settlement;
        const own = labels.get(requestId);
        const providerKey = provided.get(requestId)?.providerKey;
        return {
          ...settlement,
          ...(own !== undefined && { labels: own }),
          ...(providerKey !== undefined && { providerKey }),
        };
      });
    },
  };
}
