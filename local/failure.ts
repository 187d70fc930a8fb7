import { errorCode } from "../runtime/error-code.ts";

/** Why a start failed, in a sentence for people. */
export function sentenceOf(error: unknown, dataDirectory: string): string {
  // The system's own text names no file.
  if (errorCode(error) === "ENOSPC")
    return `A disk is full (ENOSPC), probably the one with the data directory ${dataDirectory}: free some space, or choose another directory with --data.`;
  return error instanceof Error ? error.message : String(error);
}
