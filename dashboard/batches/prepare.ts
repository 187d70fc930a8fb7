import { BATCH_BOUNDS } from "../../contract/batches.ts";
import type { BatchError } from "../../ledger/batches/batches.ts";
import type { BatchContent } from "../../ledger/batches/content.ts";
import { readFileParts } from "../../ledger/batches/files.ts";
import {
  failPreparation,
  keepBatch,
  releaseBatch,
  removeRequests,
  takeUnprepared,
  type Unprepared,
} from "../../ledger/batches/preparing.ts";
import { addRequests, bytesOfRequest, startBatch, type NewRequest } from "../../ledger/batches/requests.ts";
import type { Database } from "../../ledger/postgres/database.ts";
import { readLine, RequestMistake } from "./read-request.ts";

const MEBIBYTE = 1024 * 1024;
const MAX_LINE_BYTES = BATCH_BOUNDS.requestMebibytes * MEBIBYTE;
const ROWS_AT_ONCE = 500;
const BYTES_AT_ONCE = MEBIBYTE;
const NEWLINE = 0x0a;

export interface PrepareDeps {
  database: Database;
  content: BatchContent;
}

/**
 * Reads the file of one batch into its requests, or lists the mistakes in it.
 * @returns what has become of the batch; undefined if none waits for that.
 */
export async function prepareOne(deps: PrepareDeps): Promise<"running" | "failed" | Dropped | undefined> {
  const { database } = deps;
  const batch = await takeUnprepared(database);
  if (batch === undefined) return undefined;
  const preparation = createPreparation(deps, batch);
  for await (const { line, number } of linesOf(readFileParts(database, batch.inputFileId, deps.content))) {
    const dropped = await preparation.add(line, number);
    if (dropped !== undefined) return dropped;
    if (preparation.isOver()) break;
  }
  return preparation.end();
}

/** Why nothing more is done: it was canceled, or another process has taken it over. */
type Dropped = "canceled" | "lost";

interface Line {
  /** null: it is too long. */
  line: Buffer | null;
  /** From 1. */
  number: number;
}

async function* linesOf(parts: AsyncIterable<Buffer>): AsyncGenerator<Line> {
  let number = 0;
  let pieces: Buffer[] = [];
  let bytes = 0;

  function keep(piece: Buffer): void {
    bytes += piece.length;
    // The rest of a line that is too long is not kept.
    if (bytes <= MAX_LINE_BYTES) pieces.push(piece);
  }
  function take(): Line {
    const line = bytes > MAX_LINE_BYTES ? null : Buffer.concat(pieces);
    pieces = [];
    bytes = 0;
    return { line, number: ++number };
  }

  for await (const part of parts) {
    let from = 0;
    for (let at = part.indexOf(NEWLINE); at >= 0; at = part.indexOf(NEWLINE, from)) {
      keep(part.subarray(from, at));
      from = at + 1;
      yield take();
    }
    keep(part.subarray(from));
  }
  if (bytes > 0) yield take();
}

function createPreparation({ database, content }: PrepareDeps, batch: Unprepared) {
  const batchId = batch.id;
  let { takenUntil } = batch;
  const errors: BatchError[] = [];
  let waiting: NewRequest[] = [];
  let waitingBytes = 0;
  let requests = 0;
  let bytes = 0;
  let hasTooMany = false;

  function note(message: string, line: number | null): void {
    if (errors.length < BATCH_BOUNDS.errors) errors.push({ code: "invalid_request", message, line });
  }

  async function flush(): Promise<Dropped | undefined> {
    // Nothing of a file with mistakes runs.
    const sent = errors.length > 0 ? [] : waiting;
    waiting = [];
    waitingBytes = 0;
    // Together, so that no other process takes the batch in between.
    const { kept, repeated } = await database.transaction(async (transaction) => {
      const kept = await keepBatch(transaction, { id: batchId, takenUntil });
      const isAdding = kept.kind === "kept" && sent.length > 0;
      return { kept, repeated: isAdding ? await addRequests(transaction, { batchId, requests: sent, content }) : [] };
    });
    if (kept.kind !== "kept") return kept.kind === "canceled" ? abandon() : "lost";
    takenUntil = kept.takenUntil;
    for (const customId of repeated) {
      const { number = null } = sent.findLast((request) => request.customId === customId) ?? {};
      note(`The custom_id ${JSON.stringify(customId)} is used more than once.`, number);
    }
    return undefined;
  }

  async function abandon(): Promise<"canceled"> {
    await removeRequests(database, batchId);
    await releaseBatch(database, batchId);
    return "canceled";
  }

  function noteTooMany(what: string, number: number): undefined {
    hasTooMany = true;
    note(`The file has more than ${what}. Split it into several files.`, number);
  }

  return {
    /** Nothing in the rest of the file matters. */
    isOver: () => hasTooMany || errors.length >= BATCH_BOUNDS.errors,
    /** @returns undefined while there is more to do. */
    async add(line: Buffer | null, number: number): Promise<Dropped | undefined> {
      if (number > BATCH_BOUNDS.lines) return noteTooMany(`${BATCH_BOUNDS.lines} lines`, number);
      if (line !== null && line.toString("latin1").trim() === "") return undefined;
      if (++requests > BATCH_BOUNDS.requests) return noteTooMany(`${BATCH_BOUNDS.requests} requests`, number);
      try {
        if (line === null) throw new RequestMistake("", `must have at most ${BATCH_BOUNDS.requestMebibytes} MiB`);
        const { customId, body } = readLine(line, batch.interface);
        waiting.push({ number, customId, body });
        waitingBytes += body.length;
        bytes += bytesOfRequest({ customId, body });
      } catch (thrown) {
        if (!(thrown instanceof RequestMistake)) throw thrown;
        note(`${thrown.field === "" ? "The line" : `\`${thrown.field}\``} ${thrown.message}.`, number);
      }
      if (waiting.length < ROWS_AT_ONCE && waitingBytes < BYTES_AT_ONCE) return undefined;
      return flush();
    },
    async end(): Promise<"running" | "failed" | Dropped> {
      if (requests === 0) note("The file has no requests: each line must be a request as JSON.", null);
      const dropped = await flush();
      if (dropped !== undefined) return dropped;
      if (errors.length > 0) {
        await failPreparation(database, { batchId, errors });
        return "failed";
      }
      // Of a batch that another process has taken over meanwhile, that one's requests are not all there yet, or are sent already.
      const kept = await database.transaction(async (transaction) => {
        const { kind } = await keepBatch(transaction, { id: batchId, takenUntil });
        if (kind === "kept") await startBatch(transaction, { batchId, requests, bytes });
        return kind;
      });
      if (kept === "canceled") return abandon();
      return kept === "lost" ? "lost" : "running";
    },
  };
}
