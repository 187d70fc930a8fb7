import { spawn } from "node:child_process";
import { availableParallelism, constants, setPriority } from "node:os";
import process from "node:process";

/** In short turns, so that the end of its standard input, which is the end of who started it, is heard. */
const SPIN = `
process.stdin.on("end", () => process.exit()).resume();
(function spin() {
  const until = Date.now() + 50;
  while (Date.now() < until);
  setImmediate(spin);
})();`;

/**
 * Uses whatever time the machine's cores have left, at the lowest priority. Two cores often share one core's units, and a
 * program runs the faster the more of the machine is idle: so it finds the same machine, however much else runs.
 */
export function fillIdleCores(): { stop(): void } {
  const children = Array.from({ length: availableParallelism() }, () => {
    const child = spawn(process.execPath, ["-e", SPIN], { stdio: ["pipe", "ignore", "inherit"] });
    if (child.pid !== undefined) setPriority(child.pid, constants.priority.PRIORITY_LOW);
    return child;
  });
  return {
    stop() {
      for (const child of children) child.kill();
    },
  };
}
