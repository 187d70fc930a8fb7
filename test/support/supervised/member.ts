import process from "node:process";
import { errorCode } from "../../../runtime/error-code.ts";
import { readFamily } from "./process-facts.ts";

/** Something that runs, and can be ended and started again on the same ports and files. */
export interface Member {
  readonly name: string;
  /** Of the process that runs now, or ran last. */
  readonly pid: number;
  /** Until it is ready. Nothing to do while it runs. */
  start(): Promise<void>;
  /** Sends a signal to the process and to all that it started. */
  signal(signal: "SIGSTOP" | "SIGCONT"): Promise<void>;
  /** Resolves with how it ended. */
  end(signal: NodeJS.Signals): Promise<string>;
  /** Stops it as its supervisor would; does nothing if it is not running. */
  stop(): Promise<void>;
}

/** One run of it. */
export interface Running {
  readonly pid: number;
  /** Resolves with how it ended. */
  readonly ended: Promise<string>;
  /** Stops it if it is running, and everything that follows it. */
  stop(): Promise<void>;
}

/** @param launch resolves when it is ready, and reports the process as soon as there is one. */
export function createMember(name: string, launch: (onStarted: (running: Running) => void) => Promise<void>): Member {
  let running: Running | undefined;
  let pid = 0;

  function theOne(): Running {
    if (running === undefined) throw new Error(`${name} does not run`);
    return running;
  }

  return {
    name,
    get pid() {
      return pid;
    },
    async start() {
      if (running !== undefined) return;
      await launch((started) => {
        running = started;
        pid = started.pid;
      });
    },
    async signal(signal) {
      for (const each of await readFamily(theOne().pid)) send(each, signal);
    },
    async end(signal) {
      const ending = theOne();
      send(ending.pid, signal);
      const how = await ending.ended;
      await ending.stop();
      running = undefined;
      return how;
    },
    async stop() {
      await running?.stop();
      running = undefined;
    },
  };
}

/** A process may end between the look and the signal. */
function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (errorCode(error) !== "ESRCH") throw error;
  }
}
