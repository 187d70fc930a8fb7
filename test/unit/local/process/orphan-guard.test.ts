import { spawn } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { isAlive } from "../../../../local/process/processes.ts";
import { eventually } from "../../../support/eventually.ts";

const GUARD = path.join(import.meta.dirname, "../../../../local/process/orphan-guard.ts");

/** A supervisor that guards a process of another make, and prints its id. */
async function startSupervisor(script: string, steps: readonly { signal: string; waitMs: number }[]) {
  const code = `
    import { spawn } from "node:child_process";
    import { guardOrphan } from ${JSON.stringify(GUARD)};
    const child = spawn("/bin/sh", ["-c", ${JSON.stringify(script)}], { detached: true, stdio: "ignore" });
    const over = await guardOrphan(child.pid, ${JSON.stringify(steps)});
    process.on("SIGTERM", () => { over(); process.exit(0); });
    console.log(child.pid);
    setInterval(() => {}, 1000);`;
  const supervisor = spawn(process.execPath, ["--input-type=module", "--eval", code], { stdio: ["ignore", "pipe", "inherit"] });
  const [line] = await once(supervisor.stdout, "data");
  const guarded = Number(String(line));
  onTestFinished(async () => {
    supervisor.kill("SIGKILL");
    if (await isAlive(guarded)) process.kill(guarded, "SIGKILL");
  });
  return { supervisor, guarded };
}

test("when its supervisor is killed, a guarded process is stopped", async () => {
  const { supervisor, guarded } = await startSupervisor("exec sleep 60", [{ signal: "SIGTERM", waitMs: 5_000 }]);
  expect(await isAlive(guarded)).toBe(true);
  supervisor.kill("SIGKILL");
  await eventually(async () => expect(await isAlive(guarded)).toBe(false));
});

test("one that ignores the first signal gets the next", async () => {
  const { supervisor, guarded } = await startSupervisor("trap '' TERM; while true; do sleep 0.1; done", [
    { signal: "SIGTERM", waitMs: 1_000 },
    { signal: "SIGKILL", waitMs: 1_000 },
  ]);
  supervisor.kill("SIGKILL");
  await eventually(async () => expect(await isAlive(guarded)).toBe(false));
});

test("a supervisor that ends its guard leaves the process running", async () => {
  const { supervisor, guarded } = await startSupervisor("exec sleep 60", [{ signal: "SIGKILL", waitMs: 1_000 }]);
  supervisor.kill("SIGTERM");
  await once(supervisor, "exit");
  // Long enough for a guard that took the end for a death.
  await sleep(500);
  expect(await isAlive(guarded)).toBe(true);
});
