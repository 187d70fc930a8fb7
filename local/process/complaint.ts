import * as z from "zod";

/** The content of a child's log line that is shown on the console. */
export const COMPLAINT_MARKS = [
  '"level":"warn"',
  '"level":"error"',
  '"level":"fatal"',
  '"isRecovery":true',
  "][critical]",
  "][error]",
] as const;

const logLine = z.union([
  z.object({ level: z.enum(["warn", "error", "fatal"]), msg: z.string() }),
  z.object({ isRecovery: z.literal(true), msg: z.string() }),
]);

/**
 * The message of a warning or an error in a child's log, and of the end of an outage (runtime/outage.ts); or undefined. Only the
 * message: the rest is in the file.
 */
export function readComplaint(line: string): string | undefined {
  const envoy = /\]\[(?:critical|error)\]\[[^\]]*\] (.*)$/.exec(line)?.[1];
  if (envoy !== undefined) return envoy.replace(/^\[[^\]]*\] /, "");
  try {
    return logLine.safeParse(JSON.parse(line)).data?.msg;
  } catch {
    return undefined;
  }
}
