import { constants, fstatSync, openSync, write, writeSync } from "node:fs";
import process from "node:process";
import { errorCode } from "./error-code.ts";

/**
 * Writes log lines. A device that accepts nothing (a full disk, a stopped reader) costs lines but never blocks the process: lines
 * wait in a bounded buffer, beyond which they are dropped and counted, and neither a write nor the exit waits for the device.
 * pino's own destination keeps flushing at exit until every byte is written, whatever the error.
 */
export interface LogOutput {
  /** @param line ends in a newline. */
  write(line: string): void;
  /** Writes the buffered lines. */
  flush(): void;
  /** Called at exit: writes as many lines as the device accepts within `FINISH_MS`. */
  finish(): void;
  /** Lines that were dropped. */
  readonly dropped: number;
}

export interface LogOutputOptions {
  descriptor: number;
  /** Number of bytes to buffer before an asynchronous write. 0: each line is written before `write` returns. */
  gatherBytes: number;
  /** Maximum bytes per write: whole lines, unless a single line is longer. */
  pageBytes: number;
  /** Maximum bytes that wait for the device. */
  maxBytes?: number;
  /** The line that reports dropped ones once the device accepts lines again. */
  describeDropped(lines: number): string;
}

const STANDARD_OUTPUT = 1;
const RETRY_MS = 250;
const FINISH_MS = 250;
const FINISH_RETRY_MS = 10;

interface Page {
  text: string;
  bytes: number;
}

export function createLogOutput({
  descriptor,
  gatherBytes,
  pageBytes,
  maxBytes = 8 * 2 ** 20,
  describeDropped,
}: LogOutputOptions): LogOutput {
  const pages: Page[] = [];
  let waitingBytes = 0;
  /** The rest of a page that is partly written. */
  let rest: Buffer | undefined;
  let isWriting = false;
  let isFlushWanted = false;
  let retry: NodeJS.Timeout | undefined;
  let dropped = 0;
  let untold = 0;

  function add(line: string): void {
    const bytes = Buffer.byteLength(line);
    if (waitingBytes + bytes > maxBytes) {
      dropped++;
      untold++;
      return;
    }
    push(line, bytes);
  }

  function push(line: string, bytes: number): void {
    waitingBytes += bytes;
    const last = pages.at(-1);
    if (last === undefined || last.bytes + bytes > pageBytes) {
      pages.push({ text: line, bytes });
      return;
    }
    last.text += line;
    last.bytes += bytes;
  }

  /** The next bytes to be written. */
  function next(): Buffer | undefined {
    if (rest !== undefined) return rest;
    const page = pages.shift();
    if (page === undefined) return undefined;
    return (rest = Buffer.from(page.text));
  }

  function took(bytes: number): void {
    waitingBytes -= bytes;
    rest = rest === undefined || bytes >= rest.length ? undefined : rest.subarray(bytes);
    if (untold === 0 || rest !== undefined) return;
    const line = describeDropped(untold);
    untold = 0;
    push(line, Buffer.byteLength(line));
  }

  /** The device accepts nothing now: waiting lines are retried, and new ones join them. */
  function later(): void {
    retry ??= setTimeout(() => {
      retry = undefined;
      isFlushWanted = true;
      drain();
    }, RETRY_MS).unref();
  }

  function drain(): void {
    if (isWriting || retry !== undefined) return;
    if (gatherBytes === 0) drainNow();
    else writeNext();
  }

  function drainNow(): void {
    try {
      for (let bytes = next(); bytes !== undefined; bytes = next()) took(writeSync(descriptor, bytes));
    } catch {
      later();
    }
  }

  function writeNext(): void {
    if (rest === undefined && !isFlushWanted && waitingBytes < gatherBytes) return;
    const bytes = next();
    if (bytes === undefined) {
      isFlushWanted = false;
      return;
    }
    isWriting = true;
    write(descriptor, bytes, (error, written) => {
      isWriting = false;
      if (error !== null) return later();
      took(written);
      writeNext();
    });
  }

  return {
    write(line) {
      add(line);
      drain();
    },
    flush() {
      isFlushWanted = true;
      drain();
    },
    finish() {
      clearTimeout(retry);
      // The bytes of a write in progress would be written twice.
      if (isWriting) rest = undefined;
      const deadline = performance.now() + FINISH_MS;
      while (performance.now() < deadline) {
        try {
          const bytes = next();
          if (bytes === undefined) return;
          took(writeSync(descriptor, bytes));
        } catch (error) {
          if (!isBusy(error)) return;
          Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, FINISH_RETRY_MS);
        }
      }
    },
    get dropped() {
      return dropped;
    },
  };
}

/** A pipe with a slow reader; every other error is permanent. */
function isBusy(error: unknown): boolean {
  return errorCode(error) === "EAGAIN";
}

/**
 * Standard output in non-blocking mode: Node cannot exit while one of its threads waits for a reader. A pipe is reopened for
 * that, because its mode is shared with every other process that has it open. A socket cannot be reopened; Node itself makes it
 * non-blocking for `process.stdout`.
 */
export function openStandardOutput(): number {
  try {
    const kind = fstatSync(STANDARD_OUTPUT);
    if (kind.isSocket()) return process.stdout.fd;
    if (kind.isFIFO()) return openSync(`/proc/self/fd/${STANDARD_OUTPUT}`, constants.O_WRONLY | constants.O_NONBLOCK);
  } catch {
    // No /proc, or no standard output at all.
  }
  return STANDARD_OUTPUT;
}
