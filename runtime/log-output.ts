import { constants, fstatSync, openSync, write, writeSync } from "node:fs";
import process from "node:process";
import { errorCode } from "./error-code.ts";

/**
 * Where log lines leave the process. A device that takes nothing (a full disk, a reader that has stopped) costs lines and
 * never the process: lines wait in a bounded buffer, then they are dropped and counted, and neither a write nor the end of
 * the process waits for the device. pino's own destination flushes at the end until every byte is out, whatever the error.
 */
export interface LogOutput {
  /** Takes one line, ending in a newline. */
  write(line: string): void;
  /** Writes what has gathered. */
  flush(): void;
  /** The end of the process: writes what the device takes within `FINISH_MS`. */
  finish(): void;
  /** Lines that were dropped. */
  readonly dropped: number;
}

export interface LogOutputOptions {
  descriptor: number;
  /** So many bytes gather before they are written, off the work. 0: each line is written before `write` returns. */
  gatherBytes: number;
  /** Most bytes in one write: whole lines, but for one that is longer. */
  pageBytes: number;
  /** Most bytes that wait for the device. */
  maxBytes?: number;
  /** The line that tells of lost ones, once the device takes lines again. */
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
  /** What is left of a page of which a part is written. */
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

  /** The device takes nothing now. What waits is tried again, and what comes meanwhile waits, too. */
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
      // What a write that runs has taken would be written twice.
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

/** A pipe whose reader is slow; every other error stays. */
function isBusy(error: unknown): boolean {
  return errorCode(error) === "EAGAIN";
}

/**
 * Standard output, in a mode in which no write waits for a reader: Node cannot end while one of its threads does. A pipe is
 * opened anew for that, because its mode is shared with whoever else has it. A socket cannot be; Node itself makes it
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
