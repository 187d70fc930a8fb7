import path from "node:path";
import * as z from "zod";

/** Messages between test files and the pool on a Unix socket, one JSON document per line. */

/** A file's first words: it wants a stack that serves these Models, and no others. */
export const wishSchema = z.strictObject({
  /** YAML documents. */
  manifests: z.string(),
});

/** A file's last words: the stack is as it was. A connection that ends without them takes its stack along. */
export const RETURNED = "returned";

/** Where a stack that is lent can be reached. */
const lentSchema = z.strictObject({
  baseUrl: z.string(),
  /** Of the account `demo`, which no test uses. */
  apiKey: z.string(),
  databaseUrl: z.string(),
  simulatorUrl: z.string(),
  envoyAdminUrl: z.string(),
  extprocAdminUrl: z.string(),
  xdsSocket: z.string(),
  /** The one file that the operator reads. */
  manifestsFile: z.string(),
  directory: z.strictObject({ logs: z.string(), pepper: z.string() }),
});

export type LentStack = z.infer<typeof lentSchema>;

export const answerSchema = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("lent"), stack: lentSchema }),
  z.strictObject({ kind: z.literal("failed"), name: z.string(), message: z.string() }),
  z.strictObject({ kind: z.literal("complaint"), line: z.string() }),
]);

export type Answer = z.infer<typeof answerSchema>;

export function poolSocket(runDirectory: string): string {
  return path.join(runDirectory, "stacks.sock");
}
