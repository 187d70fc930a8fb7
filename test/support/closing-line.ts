import path from "node:path";
import process from "node:process";
import type { Reporter, TestModule } from "vitest/node";

const SLOWEST = 10;

/**
 * Ends a run with its slowest files and one plain line, `N passed, N failed`, for whoever reads results with a program. A
 * file that could not be run and an error outside of every test count as failed: neither may look like success.
 */
export default class ClosingLine implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly unknown[]): void {
    const states = modules.flatMap((module) => [...module.children.allTests()].map((test) => test.result().state));
    const brokenModules = modules.filter((module) => module.errors().length > 0 || !hasTests(module)).length;
    const passed = states.filter((state) => state === "passed").length;
    const failed = states.filter((state) => state === "failed" || state === "pending").length;
    process.stdout.write(slowestFiles(modules));
    process.stdout.write(`\n${passed} passed, ${failed + brokenModules + unhandledErrors.length} failed\n`);
  }
}

function slowestFiles(modules: readonly TestModule[]): string {
  const files = modules.map((module) => {
    const { collectDuration, setupDuration, duration } = module.diagnostic();
    return { name: path.relative(process.cwd(), module.moduleId), seconds: (collectDuration + setupDuration + duration) / 1000 };
  });
  const slowest = files.toSorted((a, b) => b.seconds - a.seconds).slice(0, SLOWEST);
  return ["\nSlowest files:", ...slowest.map(({ name, seconds }) => `${seconds.toFixed(1).padStart(7)} s  ${name}`), ""].join(
    "\n",
  );
}

function hasTests(module: TestModule): boolean {
  return !module.children.allTests().next().done;
}
