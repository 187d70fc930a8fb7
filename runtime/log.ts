import { pino, type DestinationStream, type Logger } from "pino";

export type { Logger } from "pino";

/** One JSON line an event on standard output; `level` as a word, `time` in ISO 8601. */
export function createLog(options: { process: string; level: string }, destination?: DestinationStream): Logger {
  const settings = {
    level: options.level,
    base: { process: options.process },
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    formatters: { level: (label: string) => ({ level: label }) },
  };
  return destination === undefined ? pino(settings) : pino(settings, destination);
}
