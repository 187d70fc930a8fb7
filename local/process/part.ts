import process from "node:process";
import type { Register } from "./register.ts";
import { startChild, type ChildOptions } from "./child.ts";
import { untilReady } from "./readiness.ts";
import { startWatchdog, type Watchdog } from "./watchdog.ts";

/** What every part of a stack is started with. */
export interface PartContext {
  logs: string;
  register: Register;
  /** PATH, HOME and where Node keeps compiled code; a part gets nothing else of our environment. */
  systemEnvironment: Readonly<Record<string, string>>;
  onComplaint: ChildOptions["onComplaint"];
  /** Ends a start that is under way. */
  signal: AbortSignal;
}

/** Something that runs and has to be stopped, the last started first. */
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
  /** Answers as long as the part does anything: one that is silent there is killed. Not watched where absent. */
  aliveUrl?: string | undefined;
  /** Is run before the part is told to stop. */
  beforeStop?: () => Promise<void>;
};

const READY_WITHIN_MS = 45_000;

/**
 * Starts a part and waits until it is ready. `onStarted` hears of it as soon as it runs, so that it is stopped also
 * when it does not become ready.
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
    // One that has ended can no longer be asked to drain.
    if (!isEnded) await part.beforeStop?.();
    await child.stop();
  }
  onStarted({ ...child, ended, stop });
  await context.register.add(part.name, child.pid);
  // A restart ends with its child, which the stack stops in its turn.
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
