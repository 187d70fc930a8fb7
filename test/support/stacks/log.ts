import { createLog, type Logger } from "../../../runtime/log.ts";

export interface CapturedLog {
  log: Logger;
  /** Every line so far, as it would be printed. */
  lines: string[];
}

/** A log that keeps its lines for the test to look at. */
export function captureLog(level = "info"): CapturedLog {
  const lines: string[] = [];
  return { lines, log: createLog({ process: "test", level }, { write: (line) => void lines.push(line) }) };
}
