import { closeSync, fdatasync, openSync, unlinkSync, writeSync } from "node:fs";
import { mkdir, rename, rm } from "node:fs/promises";
import path from "node:path";
import { GatewayError } from "../../contract/errors.ts";
import type { Settlement } from "../../ledger/settle.ts";
import { encodeFrame } from "./frame.ts";
import { writeOwner } from "./owner.ts";
import { encodeRecord, type Checkpoint, type JournalRecord, type StartedRun } from "./record.ts";

/**
 * What must survive this process: which requests run, what they have used, and settlements that Postgres has not got
 * yet. Records are in the kernel's hands when a call returns, so that SIGKILL loses none; a disk gets them within
 * `SYNC_MS`.
 */
export interface Journal {
  /** @throws GatewayError `billing_unavailable` where nothing more can be noted: the request must not run. */
  start(run: StartedRun): void;
  checkpoint(checkpoint: Checkpoint): void;
  end(settlement: Settlement): void;
  /** Postgres has them: they need not be kept. */
  committed(settlements: readonly Settlement[]): void;
  readonly bytes: number;
  /** Ends writing; the directory goes where nothing in it is needed any more, and stays for recovery otherwise. */
  close(): Promise<void>;
}

export interface JournalOptions {
  /** Holds one directory for each process. On one machine: owners are told apart by process id. */
  root: string;
  /** Holder of this process's credit leases; names its directory. */
  holder: string;
  /** This process's number among those of one Envoy. */
  worker?: number;
  segmentBytes?: number;
  /** More than this, and no request is admitted. */
  mostBytes?: number;
  onFailed(error: unknown): void;
}

const SYNC_MS = 50;

interface Segment {
  file: string;
  descriptor: number;
  bytes: number;
  /** Requests of which it holds records that are still needed. */
  needed: Set<string>;
}

export async function openJournal({
  root,
  holder,
  worker = 0,
  segmentBytes = 4 * 2 ** 20,
  mostBytes = 512 * 2 ** 20,
  onFailed,
}: JournalOptions): Promise<Journal> {
  const directory = path.join(root, holder);
  // It appears with its owner inside, so that no other process takes it for one that is dead.
  await mkdir(`${directory}.new`, { recursive: true });
  await writeOwner(`${directory}.new`, { holder, worker });
  await rename(`${directory}.new`, directory);

  const segments = new Set<Segment>();
  const segmentsOf = new Map<string, Set<Segment>>();
  let opened = 0;
  let bytes = 0;
  let current = openSegment();
  let isDirty = false;
  let isSyncing = false;
  const timer = setInterval(sync, SYNC_MS);
  timer.unref();

  function openSegment(): Segment {
    const file = path.join(directory, `${String(++opened).padStart(8, "0")}.journal`);
    const segment: Segment = { file, descriptor: openSync(file, "ax", 0o600), bytes: 0, needed: new Set() };
    segments.add(segment);
    return segment;
  }

  function append(requestId: string, record: JournalRecord): void {
    if (current.bytes >= segmentBytes) rotate();
    const frame = encodeFrame(encodeRecord(record));
    try {
      for (let written = 0; written < frame.length;) written += writeSync(current.descriptor, frame, written);
    } catch (error) {
      // Part of the record may be there, and whatever came behind it would not be found.
      rotate();
      throw error;
    }
    current.bytes += frame.length;
    bytes += frame.length;
    isDirty = true;
    current.needed.add(requestId);
    const holding = segmentsOf.get(requestId);
    if (holding === undefined) segmentsOf.set(requestId, new Set([current]));
    else holding.add(current);
  }

  function rotate(): void {
    const full = current;
    current = openSegment();
    fdatasync(full.descriptor, (error) => {
      if (error !== null) onFailed(error);
      closeSync(full.descriptor);
    });
    drop(full);
  }

  function drop(segment: Segment): void {
    if (segment === current && segment.needed.size === 0 && segment.bytes >= segmentBytes) rotate();
    if (segment === current || segment.needed.size > 0 || !segments.delete(segment)) return;
    bytes -= segment.bytes;
    unlinkSync(segment.file);
  }

  /** Off the request path, and never two at once: what was written in the meantime is in the next one. */
  function sync(): void {
    if (!isDirty || isSyncing) return;
    isDirty = false;
    isSyncing = true;
    fdatasync(current.descriptor, (error) => {
      isSyncing = false;
      if (error !== null && error.code !== "EBADF") onFailed(error);
    });
  }

  /** For what has been used already: failing to note it must not keep it from being settled. */
  function appendOrTell(requestId: string, record: JournalRecord): void {
    try {
      append(requestId, record);
    } catch (error) {
      onFailed(error);
    }
  }

  return {
    start(run) {
      if (bytes >= mostBytes) throw full(new Error("The journal has reached its cap."));
      try {
        append(run.requestId, { type: "start", ...run });
      } catch (error) {
        onFailed(error);
        throw full(error);
      }
    },
    checkpoint(checkpoint) {
      // Of a request that is over there is an end record.
      if (segmentsOf.has(checkpoint.requestId)) appendOrTell(checkpoint.requestId, { type: "checkpoint", ...checkpoint });
    },
    end(settlement) {
      appendOrTell(settlement.requestId, { type: "end", settlement });
    },
    committed(settlements) {
      for (const { requestId } of settlements) {
        const holding = segmentsOf.get(requestId);
        segmentsOf.delete(requestId);
        for (const segment of holding ?? []) {
          segment.needed.delete(requestId);
          drop(segment);
        }
      }
    },
    get bytes() {
      return bytes;
    },
    async close() {
      clearInterval(timer);
      if (segmentsOf.size === 0) await rm(directory, { recursive: true, force: true });
      closeSync(current.descriptor);
    },
  };
}

function full(cause: unknown): GatewayError {
  return new GatewayError("billing_unavailable", "Usage cannot be recorded right now. Try again in a few seconds.", {
    headers: { "retry-after": "5" },
    cause,
  });
}
