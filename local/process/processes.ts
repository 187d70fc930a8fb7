import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import process from "node:process";
import { promisify } from "node:util";
import { setTimeout as sleep } from "node:timers/promises";
import { errorCode } from "../../runtime/error-code.ts";
import { readProcessStat } from "../../runtime/process-stat.ts";

const run = promisify(execFile);

const POLL_MS = 25;

/** Whether there is a running process with this id. A zombie, ended but not yet reaped, does not count. */
export async function isAlive(pid: number): Promise<boolean> {
  try {
    process.kill(pid, 0);
  } catch (error) {
    // EPERM: it exists, but is not ours.
    if (errorCode(error) !== "EPERM") return false;
  }
  if (process.platform !== "linux") return true;
  const found = await readProcessStat(pid);
  return found !== undefined && !found.isZombie;
}

/**
 * Distinguishes a process from a later one with the same id: its start time, in a format of the platform. Undefined if there is
 * no such process.
 */
export async function startMark(pid: number): Promise<string | undefined> {
  if (process.platform === "linux") return (await readProcessStat(pid))?.startTicks;
  return await output("ps", ["-o", "lstart=", "-p", String(pid)]);
}

/** Program and arguments, joined by spaces; undefined if there is no such process. */
export async function commandLine(pid: number): Promise<string | undefined> {
  if (process.platform !== "linux") return await output("ps", ["-o", "command=", "-p", String(pid)]);
  const text = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => undefined);
  return text?.replaceAll("\0", " ").trim();
}

export interface StopStep {
  signal: NodeJS.Signals;
  /** How long to wait for the end before the next step. */
  waitMs: number;
}

/**
 * Sends the signals one after another until the process is gone.
 * @throws Error if it survives the last.
 */
export async function stopProcess(pid: number, steps: readonly StopStep[]): Promise<void> {
  for (const { signal, waitMs } of steps) {
    try {
      process.kill(pid, signal);
    } catch (error) {
      if (errorCode(error) !== "ESRCH") throw error;
    }
    const deadline = performance.now() + waitMs;
    while (performance.now() < deadline) {
      if (!(await isAlive(pid))) return;
      await sleep(POLL_MS);
    }
  }
  throw new Error(`Process ${pid} does not exit, not even after ${steps.at(-1)?.signal ?? "no signal"}.`);
}

async function output(program: string, parameters: readonly string[]): Promise<string | undefined> {
  const result = await run(program, parameters).catch(() => undefined);
  const text = result?.stdout.trim();
  return text === "" ? undefined : text;
}
