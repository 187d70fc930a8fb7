import process from "node:process";
import { readLastLines } from "./log-file.ts";
import type { RunningPart } from "./part.ts";
import { pause } from "../../runtime/wait.ts";

/** Starts a part and resolves once it is ready; `onStarted` is called for each process as soon as it exists. */
export type Launch = (attempt: { isRestart: boolean; onStarted: (running: RunningPart) => void }) => Promise<void>;

export interface SupervisorOptions {
  name: string;
  launch: Launch;
  /** Lines for people. */
  onNews(line: string): void;
  /** It will not be restarted; `why` has the last lines of its log. */
  onGivenUp(why: string): void;
  /** The pause before each consecutive restart, and thus their number; the default backs off from a quarter of a second. */
  pausesMs?: readonly number[];
  /** A part that ran for longer counts as healthy again. */
  healthyAfterMs?: number;
  now?: () => number;
}

/** A part that is kept running. */
export interface Supervised {
  readonly name: string;
  /** The process that runs now, or ran last; undefined before the first. */
  pid(): number | undefined;
  /** The first start: resolves once it is ready, and throws if it fails. */
  start(): Promise<void>;
  /** Afterwards no process of it is left or restarted. */
  stop(): Promise<void>;
  /** Sends a signal to the running process, and stops restarting it. */
  kill(signal: NodeJS.Signals): void;
}

const PAUSES_MS = [250, 500, 1_000, 2_000, 4_000];
const HEALTHY_AFTER_MS = 60_000;

/** Restarts a part whenever it exits, with growing pauses, until it has exited too often in a row. */
export function supervise(options: SupervisorOptions): Supervised {
  const { name, launch, onNews, onGivenUp, now = () => performance.now() } = options;
  const { pausesMs = PAUSES_MS, healthyAfterMs = HEALTHY_AFTER_MS } = options;
  const stopping = new AbortController();
  let current: RunningPart | undefined;
  let keeping: Promise<void> = Promise.resolve();
  let readyAt = 0;
  let restarts = 0;

  const onStarted = (running: RunningPart): void => {
    current = running;
  };

  async function keepRunning(): Promise<void> {
    for (;;) {
      const how = (await current?.ended) ?? "it never ran";
      if (stopping.signal.aborted) return;
      if (now() - readyAt > healthyAfterMs) restarts = 0;
      if (!(await bringBack(`${name}: ${how}`))) return;
    }
  }

  /** @returns whether it is running again. */
  async function bringBack(why: string): Promise<boolean> {
    for (let reason = why; ;) {
      const pauseMs = pausesMs[restarts++];
      if (pauseMs === undefined) {
        onGivenUp(await lastWords(reason));
        return false;
      }
      onNews(`${reason}; restarting it in ${pauseMs} ms …`);
      await pause(pauseMs, stopping.signal);
      if (stopping.signal.aborted) return false;
      try {
        await launch({ isRestart: true, onStarted });
        readyAt = now();
        // It was stopped in between.
        if (stopping.signal.aborted) await current?.stop();
        else onNews(`${name} is running again.`);
        return !stopping.signal.aborted;
      } catch (error) {
        await current?.stop();
        if (stopping.signal.aborted) return false;
        reason = error instanceof Error ? error.message : String(error);
      }
    }
  }

  async function lastWords(reason: string): Promise<string> {
    const { logFile } = current ?? {};
    const lines = logFile === undefined ? [] : await readLastLines(logFile);
    return [`${reason}. It exited ${restarts} times in a row; giving up.`, ...lines.map((line) => `  ${line}`)].join("\n");
  }

  return {
    name,
    pid: () => current?.pid,
    async start() {
      await launch({ isRestart: false, onStarted });
      readyAt = now();
      keeping = keepRunning();
    },
    async stop() {
      stopping.abort();
      await current?.stop();
      await keeping;
    },
    kill(signal) {
      stopping.abort();
      if (current !== undefined) process.kill(current.pid, signal);
    },
  };
}
