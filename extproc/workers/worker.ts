import { fork, type ChildProcess } from "node:child_process";
import type { Logger } from "../../runtime/log.ts";
import { readMessage, type Message, type News, type Subject } from "./channel.ts";
import { pause } from "../../runtime/wait.ts";

/** One worker's slot: a process runs there, and when it ends, the next one is started. */
export interface Worker {
  readonly number: number;
  /** Of the running process; null between two. */
  readonly pid: number | null;
  /** @throws if it does not answer in time, or no process runs. */
  ask(about: Subject): Promise<readonly unknown[]>;
  /** Lost if no process runs. */
  notify(news: News): void;
  /** Ends a process that no longer responds; the next one is started. */
  kill(): void;
  /** Ends the process, waits for its exit, and starts no other. */
  stop(deadlineMs: number): Promise<void>;
}

export interface WorkerOptions {
  number: number;
  /** The program's file. */
  program: string;
  /** All of its environment: secrets must not be in process arguments. */
  environment: Readonly<Record<string, string | undefined>>;
  log: Logger;
  onNews(news: News): void;
  onEnded(): void;
}

const ANSWER_WITHIN_MS = 5_000;
/** The first one that ends is replaced at once; one that keeps ending is restarted more and more rarely. */
const BACK_OFF_MS = [0, 250, 1_000, 4_000, 15_000];
/** After this long, a process counts as stable. */
const SETTLED_MS = 60_000;

export function startWorker({ number, program, environment, log, onNews, onEnded }: WorkerOptions): Worker {
  const waiting = new Map<number, PromiseWithResolvers<readonly unknown[]>>();
  let asked = 0;
  let failures = 0;
  let child: ChildProcess | undefined;
  const stopping = new AbortController();
  const running = run();

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      const startedAt = performance.now();
      const how = await runOnce();
      onEnded();
      if (stopping.signal.aborted) return;
      if (performance.now() - startedAt > SETTLED_MS) failures = 0;
      const waitMs = BACK_OFF_MS[Math.min(failures++, BACK_OFF_MS.length - 1)] ?? 0;
      log.error({ worker: number, how, waitMs }, "a worker exited; starting a replacement");
      await pause(waitMs, stopping.signal);
    }
  }

  async function runOnce(): Promise<string> {
    const { promise: ended, resolve } = Promise.withResolvers<string>();
    const started = fork(program, [], {
      env: { ...environment, WORKER: String(number) },
      // Numbers that JSON has no form for are among the metrics.
      serialization: "advanced",
    });
    started.on("message", (message) => {
      const parsed = readMessage(message);
      if (parsed.type === "news") onNews(parsed.news);
      else if (parsed.type === "answer") waiting.get(parsed.question)?.resolve(parsed.answer);
    });
    started.once("error", (error) => resolve(error.message));
    started.once("exit", (code, signal) => resolve(signal ?? `code ${code}`));
    child = started;
    const how = await ended;
    child = undefined;
    for (const { reject } of waiting.values()) reject(new Error(`worker ${number} is gone`));
    return how;
  }

  function send(message: Message): boolean {
    if (child?.connected !== true) return false;
    child.send(message, () => {});
    return true;
  }

  return {
    number,
    get pid() {
      return child?.pid ?? null;
    },
    async ask(about) {
      const question = ++asked;
      const answer = Promise.withResolvers<readonly unknown[]>();
      const fail = () => answer.reject(new Error(`worker ${number} does not answer`));
      const timer = setTimeout(fail, ANSWER_WITHIN_MS);
      waiting.set(question, answer);
      if (!send({ type: "question", question, about })) fail();
      try {
        return await answer.promise;
      } finally {
        clearTimeout(timer);
        waiting.delete(question);
      }
    },
    notify: (news) => void send({ type: "news", news }),
    kill: () => void child?.kill("SIGKILL"),
    async stop(deadlineMs) {
      stopping.abort();
      child?.kill("SIGTERM");
      const timer = setTimeout(() => child?.kill("SIGKILL"), deadlineMs);
      await running;
      clearTimeout(timer);
    },
  };
}
