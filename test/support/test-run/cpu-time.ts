import { readFileSync } from "node:fs";
import process from "node:process";
import { afterAll } from "vitest";

declare module "vitest" {
  interface TaskMeta {
    /** CPU time of a test file and of the processes that ended during it, seconds. */
    cpuSeconds?: number;
  }
}

/** Of /proc, whatever the machine: `getconf CLK_TCK` is 100 wherever Node.js runs on Linux. */
const TICKS_PER_SECOND = 100;

const startedSeconds = cpuSeconds();

// Vitest reads the first parameter's pattern as the fixtures that the hook wants: none.
afterAll(({}, file) => {
  file.meta.cpuSeconds = cpuSeconds() - startedSeconds;
});

/** CPU time of this process and, on Linux, of its descendants that have ended. */
function cpuSeconds(): number {
  if (process.platform !== "linux") {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1_000_000;
  }
  const stat = readFileSync("/proc/self/stat", "utf8");
  // The second field is the program's name in parentheses, and may contain spaces; utime is the 14th.
  const times = stat
    .slice(stat.lastIndexOf(")") + 2)
    .split(" ")
    .slice(11, 15);
  return times.reduce((sum, ticks) => sum + Number(ticks), 0) / TICKS_PER_SECOND;
}
