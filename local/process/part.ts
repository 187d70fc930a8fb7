import process from "node:process";
import type { Register } from "./register.ts";
import { startChild, type ChildOptions } from "./child.ts";
import { untilReady } from "./readiness.ts";
import { startWatchdog, type Watchdog } from "./watchdog.ts";

/** Input for starting each part of a stack. */
export interface PartContext {
  logs: string;
  register: Register;
  /** PATH, HOME and Node's compile cache; a part gets nothing else of our environment. */
  systemEnvironment: Readonly<Record<string, string>>;
  onComplaint: ChildOptions["onComplaint"];
  /** Aborts a start in progress. */
  signal: AbortSignal;
}

/** Something that runs and must be stopped, the last started first. */
export interface RunningPart {
  readonly name: string;
  readonly pid: number;
  readonly logFile: string;
  /** Resolves with how it ended. */
  readonly ended: Promise<string>;
  stop(): Promise<void>;
}

export type Part = Pick<ChildOptions, "name" | "program" | "parameters" | "hasChannel" | "stopSteps"> & {
  environment: Readonly<Record<string, string>>;
  /** Answers 200 when the part is ready. */
  readyUrl: string;
  /** Answers as long as the part does anything: a silent one is killed. Not watched if absent. */
  aliveUrl?: string | undefined;
  /** Runs before the part is stopped. */
  beforeStop?: () => Promise<void>;
};

const READY_WITHIN_MS = 45_000;

/**
 * Starts a part and waits until it is ready. `onStarted` is called as soon as it runs, so that it is stopped even if it does not
 * become ready.
 */
export async function startPart(
  part: Part,
  context: PartContext,
  onStarted: (running: RunningPart) => void,
  { isRestart = false } = {},
): Promise<void> {
  if (!isRestart) context.signal.throwIfAborted();
  const child = await startChild({
    ...part,
    isRestart,
    logs: context.logs,
    onComplaint: context.onComplaint,
    environment: { ...context.systemEnvironment, ...part.environment },
  });
  let isEnded = false;
  let isSilent = false;
  let watchdog: Watchdog | undefined;
  const ended = child.ended.then(async (how) => {
    isEnded = true;
    await watchdog?.stop();
    return isSilent ? "it stopped responding and was killed" : how;
  });
  async function stop(): Promise<void> {
    await watchdog?.stop();
    // An ended part can no longer be drained.
    if (!isEnded) await part.beforeStop?.();
    await child.stop();
  }
  onStarted({ ...child, ended, stop });
  await context.register.add(part.name, child.pid);
  // A restart ends with its child, which the stack stops in turn.
  const signal = isRestart ? new AbortController().signal : context.signal;
  await untilReady(child, { url: part.readyUrl, withinMs: READY_WITHIN_MS, signal });
  if (part.aliveUrl === undefined || isEnded) return;
  watchdog = startWatchdog({
    url: part.aliveUrl,
    onSilent: () => {
      if (isEnded) return;
      isSilent = true;
      process.kill(child.pid, "SIGKILL");
    },
  });
}
