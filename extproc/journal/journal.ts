import path from "node:path";
import { GatewayError } from "../../contract/errors.ts";
import type { Settlement } from "../../ledger/settlement/settlement.ts";
import { encodeFrame } from "./frame.ts";
import { describeOwner } from "./owner.ts";
import {
  encodeCheckpoint,
  encodeEnd,
  encodeLabels,
  encodeProviderKey,
  encodeRun,
  encodeStart,
  type Checkpoint,
  type StartedRun,
} from "./record.ts";
import { createSegments, type Segment, type SegmentFiles } from "./segments.ts";

/**
 * State that must survive this process: running requests, their usage, and settlements that Postgres does not have yet. Records
 * are in the kernel when a call returns, so that SIGKILL loses none; they reach the disk within `SYNC_MS`. Records that the disk
 * rejects are kept in memory and retried, and nothing new starts until they are written.
 */
export interface Journal {
  /** @throws GatewayError `billing_unavailable` if nothing more can be recorded: the request must not run. */
  start(run: StartedRun): void;
  checkpoint(checkpoint: Checkpoint): void;
  end(settlement: Settlement): void;
  /** Postgres has them: they need not be kept. */
  committed(settlements: readonly Settlement[]): void;
  readonly bytes: number;
  /** The disk rejected the latest record. */
  readonly isFailing: boolean;
  /** Ends writing; the directory is removed if nothing in it is needed any more, and stays for recovery otherwise. */
  close(): Promise<void>;
}

export interface JournalOptions {
  /** Contains one directory per process. On one machine: owners are identified by process id. */
  root: string;
  /** Holder of this process's credit leases; the name of its directory. */
  holder: string;
  /** This process's number among those of one Envoy. */
  worker?: number;
  segmentBytes?: number;
  /** Beyond this size, no request is admitted. */
  maxBytes?: number;
  /** The disk rejects records, or fails otherwise. Called once for each time that this begins. */
  onFailed(error: unknown): void;
  /** All rejected records are written. */
  onRestored?(): void;
  files?: SegmentFiles;
}

const SYNC_MS = 50;

/** A request that has records here. */
interface Noted {
  /** The content of its start record, for its checkpoints. */
  encodedRun: string;
  segments: Segment[];
}

/** @throws if the directory cannot be created: nothing could be charged. */
export async function openJournal({
  root,
  holder,
  worker = 0,
  segmentBytes = 4 * 2 ** 20,
  maxBytes = 512 * 2 ** 20,
  onFailed,
  onRestored = () => {},
  files,
}: JournalOptions): Promise<Journal> {
  const segments = createSegments({
    directory: path.join(root, holder),
    owner: await describeOwner({ holder, worker }),
    segmentBytes,
    onFailed,
    files,
  });
  const requests = new Map<string, Noted>();
  /** The latest record of each request that the disk has not accepted. At most one per running request. */
  const unwritten = new Map<string, string>();
  let isFailing = false;
  const timer = setInterval(() => {
    writeAgain();
    segments.sync();
  }, SYNC_MS);
  timer.unref();

  function append(requestId: string, noted: Noted, frame: Buffer): void {
    let segment: Segment;
    try {
      segment = segments.append(frame, requestId);
    } catch (error) {
      if (!isFailing) onFailed(error);
      isFailing = true;
      throw error;
    }
    if (!noted.segments.includes(segment)) noted.segments.push(segment);
    unwritten.delete(requestId);
    if (isFailing && unwritten.size === 0) restored();
  }

  /** For past usage: a disk that rejects it must not prevent its settlement. */
  function appendOrKeep(requestId: string, text: string): void {
    const noted = requests.get(requestId);
    if (noted === undefined) return;
    let frame: Buffer;
    try {
      frame = encodeFrame(text);
    } catch (error) {
      // No disk would ever accept it: waiting would block everybody.
      onFailed(error);
      return;
    }
    try {
      append(requestId, noted, frame);
    } catch {
      unwritten.set(requestId, text);
    }
  }

  function writeAgain(): void {
    for (const [requestId, text] of unwritten) {
      appendOrKeep(requestId, text);
      if (unwritten.has(requestId)) return;
    }
  }

  function restored(): void {
    isFailing = false;
    onRestored();
  }

  return {
    start(run) {
      if (unwritten.size > 0) throw full(new Error("The journal's disk is not writable."));
      if (segments.bytes >= maxBytes) throw full(new Error("The journal has reached its cap."));
      const noted: Noted = { encodedRun: encodeRun(run), segments: [] };
      try {
        append(run.requestId, noted, framesOf(run, noted.encodedRun));
      } catch (error) {
        throw full(error);
      }
      requests.set(run.requestId, noted);
    },
    checkpoint(checkpoint) {
      const noted = requests.get(checkpoint.requestId);
      // A finished request has an end record.
      if (noted === undefined || noted.encodedRun === "") return;
      appendOrKeep(checkpoint.requestId, encodeCheckpoint(checkpoint, noted.encodedRun));
    },
    end(settlement) {
      const { requestId } = settlement;
      const noted = requests.get(requestId);
      if (noted === undefined) requests.set(requestId, { encodedRun: "", segments: [] });
      else noted.encodedRun = "";
      appendOrKeep(requestId, encodeEnd(settlement));
    },
    committed(settlements) {
      for (const { requestId } of settlements) {
        unwritten.delete(requestId);
        const noted = requests.get(requestId);
        if (noted === undefined) continue;
        requests.delete(requestId);
        for (const segment of noted.segments) segments.release(segment, requestId);
      }
    },
    get bytes() {
      return segments.bytes;
    },
    get isFailing() {
      return isFailing;
    },
    async close() {
      clearInterval(timer);
      writeAgain();
      if (requests.size === 0) await segments.removeAll();
      segments.close();
    },
  };
}

/** Written at once: a record of labels, or of a provider key, is there exactly if its start record is. */
function framesOf({ requestId, labels = [], providerKey, price }: StartedRun, encodedRun: string): Buffer {
  const start = encodeFrame(encodeStart(encodedRun));
  if (labels.length === 0 && providerKey === undefined) return start;
  const frames = [start];
  if (labels.length > 0) frames.push(encodeFrame(encodeLabels(requestId, labels)));
  if (providerKey !== undefined) frames.push(encodeFrame(encodeProviderKey(requestId, providerKey, price)));
  return Buffer.concat(frames);
}

function full(cause: unknown): GatewayError {
  return new GatewayError("billing_unavailable", "Usage cannot be recorded right now. Try again in a few seconds.", {
    headers: { "retry-after": "5" },
    cause,
  });
}
