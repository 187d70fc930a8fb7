import { errorCode } from "../runtime/error-code.ts";

/** Why a start failed, in a sentence for people. */
export function sentenceOf(error: unknown, dataDirectory: string): string {
  const sentence = error instanceof Error ? error.message : String(error);
  // The system's own text names no file, and Postgres's own remedies would cost its data.
  if (errorCode(error) === "ENOSPC" || sentence.includes("No space left on device"))
    return `A disk is full (ENOSPC), probably the one with the data directory ${dataDirectory}: free some space, or choose another directory with --data.`;
  return sentence;
}
