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
  z.object({
    level: z.enum(["warn", "error", "fatal"]),
    msg: z.string(),
    model: z.string().optional(),
    upstreamStatus: z.int().optional(),
    upstreamPath: z.string().optional(),
  }),
  z.object({ isRecovery: z.literal(true), msg: z.string() }),
]);

export interface Complaint {
  message: string;
  /** What a model server answered, for which model: nearly always, that tells what is wrong with its Model. */
  detail?: string;
}

/**
 * A warning or an error in a child's log, or the end of an outage (runtime/outage.ts); or undefined. Only its message: the rest
 * is in the file.
 */
export function readComplaint(line: string): Complaint | undefined {
  const envoy = /\]\[(?:critical|error)\]\[[^\]]*\] (.*)$/.exec(line)?.[1];
  if (envoy !== undefined) return { message: envoy.replace(/^\[[^\]]*\] /, "") };
  try {
    const found = logLine.safeParse(JSON.parse(line)).data;
    if (found === undefined) return undefined;
    const message = found.msg;
    if (!("level" in found) || found.upstreamStatus === undefined) return { message };
    const { model = "a model", upstreamStatus, upstreamPath } = found;
    return { message, detail: `${model}: ${upstreamStatus}${upstreamPath === undefined ? "" : ` at ${upstreamPath}`}` };
  } catch {
    return undefined;
  }
}
