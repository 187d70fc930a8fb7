import { spawn } from "node:child_process";
import { once } from "node:events";
import { createWriteStream } from "node:fs";
import { finished } from "node:stream/promises";
import { guardOrphan } from "../../../local/process/orphan-guard.ts";
import type { StopStep } from "../../../local/process/processes.ts";
import { eventually } from "../../support/eventually.ts";

export interface ChildOptions {
  name: string;
  program: string;
  parameters: readonly string[];
  environment?: Readonly<Record<string, string>>;
  directory?: string;
  /** Answers when it is ready. */
  readyUrl: string;
  /** Whether an answer of `readyUrl` says so; any does by default. */
  isReady?: (response: Response) => boolean;
  /** Its output. */
  logFile: string;
  readyWithinMs?: number;
}

export interface Child {
  readonly pid: number;
  stop(): Promise<void>;
}

const STOP_WITHIN_MS = 5_000;
/** If this process ends without stopping it. */
const ORPHAN_STEPS: readonly StopStep[] = [
  { signal: "SIGTERM", waitMs: STOP_WITHIN_MS },
  { signal: "SIGKILL", waitMs: STOP_WITHIN_MS },
];

/** @throws Error that names its log when it does not come up; it does not run then. */
export async function startChild(options: ChildOptions): Promise<Child> {
  const log = createWriteStream(options.logFile);
  const child = spawn(options.program, options.parameters, {
    cwd: options.directory,
    env: { ...process.env, ...options.environment },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const exited = once(child, "exit");
  const endGuard = child.pid === undefined ? () => {} : await guardOrphan(child.pid, ORPHAN_STEPS);
  void exited.then(endGuard);
  child.stdout.pipe(log, { end: false });
  child.stderr.pipe(log, { end: false });

  async function stop(): Promise<void> {
    child.kill("SIGTERM");
    const timer = setTimeout(() => child.kill("SIGKILL"), STOP_WITHIN_MS);
    await exited;
    clearTimeout(timer);
    log.end();
    await finished(log);
  }

  try {
    await eventually(
      async () => {
        if (child.exitCode !== null) throw new Error("it has ended");
        const response = await fetch(options.readyUrl);
        if (options.isReady?.(response) === false) throw new Error(`${options.readyUrl} answers ${response.status}`);
      },
      { withinMs: options.readyWithinMs ?? 30_000 },
    );
  } catch (error) {
    await stop();
    throw new Error(`${options.name} did not come up; its log is ${options.logFile}.`, { cause: error });
  }
  return { pid: child.pid ?? 0, stop };
}
