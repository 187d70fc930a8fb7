import { spawn, type StdioOptions } from "node:child_process";
import { once } from "node:events";
import { open } from "node:fs/promises";
import process from "node:process";
import { COMPLAINT_MARKS, readComplaint } from "./complaint.ts";
import { continueLog, rotateLog, watchLog } from "./log-file.ts";
import { guardOrphan } from "./orphan-guard.ts";
import { stopProcess, type StopStep } from "./processes.ts";

export interface ChildOptions {
  name: string;
  program: string;
  parameters: readonly string[];
  /** Its complete environment. */
  environment: Readonly<Record<string, string>>;
  /** Its log is `<logs>/<name>.log`. */
  logs: string;
  /**
   * Gives it a channel that closes when this process is gone, for whatever reason (runtime/lifecycle.ts); otherwise a guard stops
   * it.
   */
  hasChannel: boolean;
  stopSteps: readonly StopStep[];
  /** Its log continues the previous run's. */
  isRestart?: boolean;
  onComplaint: (name: string, message: string, detail?: string) => void;
}

export interface Child {
  readonly name: string;
  readonly pid: number;
  readonly logFile: string;
  /** How it ended, once it did: "it ended with code 1". */
  readonly ended: Promise<string>;
  stop(): Promise<void>;
}

/**
 * Starts a process of the stack in a separate group: a Ctrl-C in the terminal reaches only the supervisor, which stops the parts
 * in order.
 * @throws Error if the program cannot be run.
 */
export async function startChild(options: ChildOptions): Promise<Child> {
  const { name, program, parameters, environment, stopSteps, onComplaint } = options;
  const log =
    options.isRestart === true
      ? await continueLog(options.logs, name)
      : { file: await rotateLog(options.logs, name), fromByte: 0 };
  const { file: logFile } = log;
  const handle = await open(logFile, "a");
  const output: StdioOptions = ["ignore", handle.fd, handle.fd];
  const child = spawn(program, parameters, {
    cwd: process.cwd(),
    env: { ...environment },
    detached: true,
    stdio: options.hasChannel ? [...output, "ipc"] : output,
  });
  const { promise: ended, resolve } = Promise.withResolvers<string>();
  child.once("exit", (code, signal) => resolve(`it exited with ${signal ?? `code ${code}`}`));
  try {
    await once(child, "spawn");
  } catch (error) {
    throw new Error(`${name} cannot be started from ${program}.`, { cause: error });
  } finally {
    await handle.close();
  }
  const { pid } = child;
  if (pid === undefined) throw new Error(`${name} has no process id.`);

  const endGuard = options.hasChannel ? () => {} : await guardOrphan(pid, stopSteps);
  const watch = watchLog(log, COMPLAINT_MARKS, (line) => {
    const complaint = readComplaint(line);
    if (complaint !== undefined) onComplaint(name, complaint.message, complaint.detail);
  });
  let isEnded = false;
  async function finish(): Promise<void> {
    await ended;
    isEnded = true;
    endGuard();
    // The next run appends to the same log, and has its own watch.
    await watch.stop();
  }
  void finish();
  let stopping: Promise<void> | undefined;

  async function stop(): Promise<void> {
    if (!isEnded) await stopProcess(pid ?? 0, stopSteps);
    await ended;
    await watch.stop();
  }
  return { name, pid, logFile, ended, stop: () => (stopping ??= stop()) };
}
