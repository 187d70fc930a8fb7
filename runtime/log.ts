import { destination as fileDestination, pino, type DestinationStream, type Logger } from "pino";

export type { Logger } from "pino";

/** Logs every line of a busy process for less: lines gather until there is a page of them, or for this long. */
const GATHER_BYTES = 8 * 1024;
/** Several processes may write to one pipe: so much at once, and no line is torn by another process's. */
const SHARED_PIPE_BYTES = 4096;
const GATHER_MS = 200;
const WARN = 40;

interface LogOptions {
  process: string;
  level: string;
}

/** One JSON line an event on standard output; `level` as a word, `time` in ISO 8601. */
export function createLog(options: LogOptions, destination?: DestinationStream): Logger {
  const settings = settingsOf(options);
  return destination === undefined ? pino(settings) : pino(settings, destination);
}

/**
 * The same, written behind the work, a page at a time. Warnings and errors are written at once, with all that came before;
 * what SIGKILL meets in memory is lost.
 */
export function createGatheringLog(options: LogOptions & { worker?: number | undefined }): Logger {
  const pages =
    options.worker === undefined
      ? { minLength: GATHER_BYTES }
      : { minLength: SHARED_PIPE_BYTES / 2, maxWrite: SHARED_PIPE_BYTES };
  const output = fileDestination({ dest: 1, sync: false, ...pages });
  setInterval(() => output.flush(), GATHER_MS).unref();
  return pino(
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
}

function settingsOf(options: LogOptions & { worker?: number | undefined }) {
  return {
    level: options.level,
    base: { process: options.process, ...(options.worker === undefined ? {} : { worker: options.worker }) },
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    formatters: { level: (label: string) => ({ level: label }) },
  };
}
