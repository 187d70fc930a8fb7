import process from "node:process";
import type { Reporter, TestModule } from "vitest/node";

/**
 * Ends a run with one plain line, `N passed, N failed`, for whoever reads results with a program. A file that could not
 * be run and an error outside of every test count as failed: neither may look like success.
 */
export default class ClosingLine implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly unknown[]): void {
    const states = modules.flatMap((module) => [...module.children.allTests()].map((test) => test.result().state));
    const brokenModules = modules.filter((module) => module.errors().length > 0 || !hasTests(module)).length;
    const passed = states.filter((state) => state === "passed").length;
    const failed = states.filter((state) => state === "failed" || state === "pending").length;
    process.stdout.write(`\n${passed} passed, ${failed + brokenModules + unhandledErrors.length} failed\n`);
  }
}

function hasTests(module: TestModule): boolean {
  return !module.children.allTests().next().done;
}
