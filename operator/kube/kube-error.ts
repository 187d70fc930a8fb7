import * as z from "zod";

/** What the API server would not do, in its words. */
export class KubeError extends Error {
  /** HTTP status. */
  readonly code: number;
  /** In one word, such as AlreadyExists. */
  readonly reason: string;

  constructor(code: number, { reason, message }: { reason: string; message: string }) {
    super(`The Kubernetes API answered ${code} ${reason}: ${message}`);
    this.name = "KubeError";
    this.code = code;
    this.reason = reason;
  }
}

const statusSchema = z.object({ reason: z.string().default(""), message: z.string().default("") });

/** The error that an answer's body tells. */
export function toKubeError(code: number, body: unknown): KubeError {
  const status = statusSchema.safeParse(body);
  return new KubeError(code, status.success ? status.data : { reason: "", message: "without a Status" });
}

/** Is it the API server's answer with this code? Anything else, a lost connection included, is not. */
export function isKubeError(error: unknown, ...codes: readonly number[]): error is KubeError {
  return error instanceof KubeError && codes.includes(error.code);
}
