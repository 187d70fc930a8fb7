import { readFile } from "node:fs/promises";
import type { Child } from "../../../local/process/child.ts";
import type { StopStep } from "../../../local/process/processes.ts";

/** Go's collector would run whenever their memory has doubled from next to nothing; the limit keeps four of them within 3 GiB. */
export const SELDOM_COLLECTED = { GOGC: "400", GOMEMLIMIT: "700MiB" };

/** There is nothing to keep: after a short while they are killed. */
export const SERVER_STOP_STEPS: readonly StopStep[] = [
  // One that a test has paused hears nothing else.
  { signal: "SIGCONT", waitMs: 0 },
  { signal: "SIGTERM", waitMs: 3_000 },
  { signal: "SIGKILL", waitMs: 5_000 },
];

/**
 * Waits for a server that has just been started.
 * @throws Error with the end of its log if it exits, or does not become ready.
 */
export async function withLog(server: Child, ready: () => Promise<void>): Promise<void> {
  const failed = server.ended.then((how) => {
    throw new Error(how);
  });
  try {
    await Promise.race([ready(), failed]);
  } catch (error) {
    const log = await readFile(server.logFile, "utf8");
    await server.stop();
    throw new Error(`${server.name} did not come up:\n${log.slice(-4_000)}`, { cause: error });
  }
  // From here on the end is no failure of the start.
  failed.catch(() => {});
}
