import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { SYSTEM_PATH } from "../postgres/identity.ts";
import type { StopStep } from "./processes.ts";

const SCRIPT = fileURLToPath(new URL("./orphan-guard.sh", import.meta.url));

/**
 * A foreign process cannot detect that its parent is gone. This small companion can: its standard input closes when we exit for
 * any reason, and then it stops the process. Our own programs have a channel instead (runtime/lifecycle.ts).
 * @returns a function that ends the guard: the process is gone, or we will stop it ourselves.
 */
export async function guardOrphan(pid: number, steps: readonly StopStep[]): Promise<() => void> {
  const parameters = steps.flatMap(({ signal, waitMs }) => [signal.replace(/^SIG/, ""), String(Math.ceil(waitMs / 1000))]);
  const guard = spawn("sh", [SCRIPT, String(pid), ...parameters], {
    cwd: "/",
    env: { PATH: SYSTEM_PATH },
    // A separate group: a signal to our group must not end it.
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
  });
  guard.stdin.on("error", () => {});
  await once(guard, "spawn");
  guard.unref();
  return () => void guard.stdin.end("over\n");
}
