import type { Logger } from "./log.ts";

interface ShutdownPhase {
  name: string;
  deadlineMs: number;
  run(): Promise<void> | void;
}

export interface Lifecycle {
  /** Phases run in the order they were added, each within its deadline; a failed one does not stop the next. */
  onShutdown(phase: ShutdownPhase): void;
  /** Runs all phases once; later calls wait for the same run. */
  shutdown(reason: string): Promise<void>;
  /** True from the moment shutdown begins: readiness turns false. */
  readonly isStopping: boolean;
}

/** Named shutdown phases with deadlines, so that a stuck phase is named in the log and cannot block the process. */
export function createLifecycle(log: Logger): Lifecycle {
  const phases: ShutdownPhase[] = [];
  let running: Promise<void> | undefined;

  async function runAll(reason: string): Promise<void> {
    log.info({ reason }, "shutting down");
    for (const phase of phases) await runPhase(phase, log);
    log.info("stopped");
  }

  return {
    onShutdown: (phase) => void phases.push(phase),
    shutdown: (reason) => (running ??= runAll(reason)),
    get isStopping() {
      return running !== undefined;
    },
  };
}

/**
 * Shuts down on SIGTERM or SIGINT, or when the parent that started this process with an IPC channel is gone, then exits: with 0
 * after a clean shutdown.
 */
export function exitOnSignals(lifecycle: Lifecycle): void {
  const stop = (reason: string) => {
    void lifecycle.shutdown(reason).then(() => process.exit(0));
  };
  process.on("SIGTERM", () => stop("SIGTERM"));
  process.on("SIGINT", () => stop("SIGINT"));
  process.on("disconnect", () => stop("the parent process is gone"));
}

async function runPhase(phase: ShutdownPhase, log: Logger): Promise<void> {
  const startedAt = performance.now();
  const { promise: late, resolve } = Promise.withResolvers<"late">();
  const timer = setTimeout(() => resolve("late"), phase.deadlineMs);
  try {
    const outcome = await Promise.race([Promise.resolve(phase.run()), late]);
    const durationMs = Math.round(performance.now() - startedAt);
    if (outcome === "late") log.warn({ phase: phase.name, durationMs }, "shutdown phase missed its deadline");
    else log.info({ phase: phase.name, durationMs }, "shutdown phase done");
  } catch (error) {
    log.error({ phase: phase.name, err: error }, "shutdown phase failed");
  } finally {
    clearTimeout(timer);
  }
}
