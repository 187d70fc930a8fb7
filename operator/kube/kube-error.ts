import * as z from "zod";

/** A rejection by the API server, with its message. */
export class KubeError extends Error {
  /** HTTP status. */
  readonly code: number;
  /** In one word, such as AlreadyExists. */
  readonly reason: string;

  constructor(code: number, { reason, message }: { reason: string; message: string }) {
    super(`The Kubernetes API answered ${[code, reason].filter(Boolean).join(" ")}: ${message}`);
    this.name = "KubeError";
    this.code = code;
    this.reason = reason;
  }
}

/** The API server gave no answer that can be read: what was sent may have been done or not. */
export class KubeUnansweredError extends Error {
  constructor(reason: string, options: ErrorOptions) {
    super(`The Kubernetes API cannot be used at the moment: ${reason}`, options);
    this.name = "KubeUnansweredError";
  }
}

const statusSchema = z.object({ reason: z.string().default(""), message: z.string().default("") });

/** The error in an answer's body. */
export function toKubeError(code: number, body: unknown): KubeError {
  const status = statusSchema.safeParse(body);
  return new KubeError(code, status.success ? status.data : { reason: "", message: wordsFor(code) });
}

/** For an answer without a Status, which the API server gives for kinds that it does not know. */
function wordsFor(code: number): string {
  return code === 404 ? "there is no such kind of resource; install its definition (crds.enabled)" : "without a Status";
}

/** Whether it is the API server's answer with this code; false for anything else, including a lost connection. */
export function isKubeError(error: unknown, ...codes: readonly number[]): error is KubeError {
  return error instanceof KubeError && codes.includes(error.code);
}
