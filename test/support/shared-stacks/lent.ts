import path from "node:path";
import * as z from "zod";

/** Where a stack that is lent can be reached. */
export const lentSchema = z.strictObject({
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

/** Of the pool, which is asked with the Models to serve, as YAML documents. */
export function stacksSocket(runDirectory: string): string {
  return path.join(runDirectory, "stacks.sock");
}
