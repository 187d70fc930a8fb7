import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

export interface Logged {
  /** Null if it was killed. */
  code: number | null;
  /** The last lines of both outputs, as they came. */
  lines: readonly string[];
  seconds: number;
}

interface RunOptions {
  environment: Readonly<Record<string, string>>;
  withinMs: number;
  signal: AbortSignal;
}

const KEPT_LINES = 500;

/** Runs a program to its end. The process namespace that `unshare --kill-child` made ends with it. @throws AbortError */
export async function runLogged(program: string, words: readonly string[], options: RunOptions): Promise<Logged> {
  const startedMs = performance.now();
  const child = spawn(program, words, {
    env: { ...options.environment },
    stdio: ["ignore", "pipe", "pipe"],
    timeout: options.withinMs,
    killSignal: "SIGKILL",
    signal: options.signal,
  });
  const lines: string[] = [];
  for (const input of [child.stdout, child.stderr]) {
    createInterface({ input }).on("line", (line) => {
      lines.push(line);
      if (lines.length > KEPT_LINES) lines.shift();
    });
  }
  await once(child, "close");
  return { code: child.exitCode, lines, seconds: (performance.now() - startedMs) / 1000 };
}
