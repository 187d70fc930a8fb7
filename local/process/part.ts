import type { Register } from "./register.ts";
import { startChild, type Child, type ChildOptions } from "./child.ts";
import { untilReady } from "./readiness.ts";

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
  /** Is run before the part is told to stop. */
  beforeStop?: () => Promise<void>;
};

const READY_WITHIN_MS = 45_000;

/**
 * Starts a part and waits until it is ready. `onStarted` hears of it as soon as it runs, so that it is stopped also
 * when it does not become ready.
 */
export async function startPart(part: Part, context: PartContext, onStarted: (running: RunningPart) => void): Promise<void> {
  context.signal.throwIfAborted();
  const child = await startChild({
    ...part,
    logs: context.logs,
    onComplaint: context.onComplaint,
    environment: { ...context.systemEnvironment, ...part.environment },
  });
  onStarted({ ...child, stop: () => stop(child, part) });
  await context.register.add(part.name, child.pid);
  await untilReady(child, { url: part.readyUrl, withinMs: READY_WITHIN_MS, signal: context.signal });
}

async function stop(child: Child, { beforeStop }: Part): Promise<void> {
  await beforeStop?.();
  await child.stop();
}
