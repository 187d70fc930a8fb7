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

/** What extproc logs of a model server's error; the status is null if there was no answer. */
const upstreamFailure = z.object({ model: z.string(), upstreamStatus: z.int().nullable(), upstreamPath: z.string() });

/** What the operator logs of a folder that it cannot read: the error names it. */
const sourceFailure = z.object({ source: z.string(), err: z.object({ message: z.string() }) });

/** By the status of a model server's error; null if there was no answer. */
const REMEDIES: ReadonlyMap<number | null, string> = new Map([
  [401, "check its key"],
  [403, "check its key"],
  [404, "check its base URL and the model's name"],
  [null, "check its base URL, and that it runs"],
]);

export interface Complaint {
  message: string;
  /**
   * What a model server answered, for which model: nearly always, that tells what is wrong with its Model. Or why the folder of
   * manifests cannot be read.
   */
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
    const content: unknown = JSON.parse(line);
    const message = logLine.safeParse(content).data?.msg;
    if (message === undefined) return undefined;
    const unreadable = sourceFailure.safeParse(content).data;
    if (unreadable !== undefined) return { message, detail: unreadable.err.message };
    const failure = upstreamFailure.safeParse(content).data;
    if (failure === undefined) return { message };
    const { model, upstreamStatus, upstreamPath } = failure;
    const remedy = REMEDIES.get(upstreamStatus);
    const answer = `${model}: ${upstreamStatus ?? "no answer"} at ${upstreamPath}`;
    return { message, detail: remedy === undefined ? answer : `${answer}; ${remedy}` };
  } catch {
    return undefined;
  }
}
