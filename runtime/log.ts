import process from "node:process";
import { pino, type DestinationStream, type Logger } from "pino";
import { createLogOutput, openStandardOutput, type LogOutput } from "./log-output.ts";

export type { Logger } from "pino";

/** Batches the lines of a busy process: until they fill a page, or for this long. */
const GATHER_BYTES = 8 * 1024;
const PAGE_BYTES = 16 * 1024;
/** Several processes may write to one pipe: a write of this size is atomic, so their lines do not mix. */
const SHARED_PIPE_BYTES = 4096;
const GATHER_MS = 200;
const WARN = 40;

interface LogOptions {
  process: string;
  level: string;
  worker?: number | undefined;
}

/** One JSON line per event on standard output; `level` as a word, `time` in ISO 8601. */
export function createLog(options: LogOptions, destination?: DestinationStream): Logger {
  const settings = settingsOf(options);
  if (destination !== undefined) return pino(settings, destination);
  if (options.level === "silent") return pino(settings, { write() {} });
  return createCountedLog(options).log;
}

/** A log that counts the lines dropped because standard output accepted none. */
export interface CountedLog {
  log: Logger;
  droppedLines(): number;
}

/** Like `createLog`, for a process with metrics. */
export function createCountedLog(options: LogOptions): CountedLog {
  const output = openOutput(options, { gatherBytes: 0, pageBytes: SHARED_PIPE_BYTES });
  return { log: pino(settingsOf(options), output), droppedLines: () => output.dropped };
}

/**
 * The same, written asynchronously, a page at a time. Warnings and errors are written at once, with all earlier lines; SIGKILL
 * loses the lines in memory.
 */
export function createGatheringLog(options: LogOptions): CountedLog {
  const pages =
    options.worker === undefined
      ? { gatherBytes: GATHER_BYTES, pageBytes: PAGE_BYTES }
      : { gatherBytes: SHARED_PIPE_BYTES / 2, pageBytes: SHARED_PIPE_BYTES };
  const output = openOutput(options, pages);
  setInterval(() => output.flush(), GATHER_MS).unref();
  const log = pino(
    {
      ...settingsOf(options),
      hooks: {
        logMethod(line, write, level) {
          write.apply(this, line);
          if (level >= WARN) output.flush();
        },
      },
    },
    output,
  );
  return { log, droppedLines: () => output.dropped };
}

function openOutput(options: LogOptions, pages: { gatherBytes: number; pageBytes: number }): LogOutput {
  const lines: string[] = [];
  const teller = pino(settingsOf(options), { write: (line) => void lines.push(line) });
  const output = createLogOutput({
    descriptor: openStandardOutput(),
    ...pages,
    describeDropped(dropped) {
      teller.warn({ dropped }, "log lines were dropped: standard output accepted none for a while");
      return lines.splice(0).join("");
    },
  });
  process.on("exit", () => output.finish());
  return output;
}

function settingsOf(options: LogOptions) {
  let writtenMs = NaN;
  let written = "";

  /** A busy process writes several lines in the same millisecond. */
  function timestamp(): string {
    const nowMs = Date.now();
    if (nowMs === writtenMs) return written;
    writtenMs = nowMs;
    return (written = `,"time":"${new Date(nowMs).toISOString()}"`);
  }

  return {
    level: options.level,
    base: { process: options.process, ...(options.worker === undefined ? {} : { worker: options.worker }) },
    timestamp,
    formatters: { level: (label: string) => ({ level: label }) },
  };
}
