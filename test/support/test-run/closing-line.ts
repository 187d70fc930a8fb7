import path from "node:path";
import process from "node:process";
import { whyNoCluster } from "../cluster/prerequisites.ts";
import type { Reporter, TestModule, TestRunEndReason, TestSuite } from "vitest/node";

const SLOWEST = 10;

/**
 * Ends a run with its slowest files, what the machine lacks, and one plain line, `N passed, N failed`, for whoever reads
 * results with a program. A file that could not be run, a test whose hooks failed and an error outside of every test count
 * as failed: none of them may look like success.
 */
export default class ClosingLine implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly unknown[], reason: TestRunEndReason): void {
    const passed = modules.flatMap((module) => [...module.children.allTests("passed")]).length;
    const failed = modules.map(countFailed).reduce((sum, count) => sum + count, unhandledErrors.length);
    process.stdout.write(slowestFiles(modules) + missingPrerequisites(modules) + leftOut());
    // A run whose set-up failed has neither tests nor errors.
    const atLeast = reason === "passed" ? 0 : 1;
    process.stdout.write(`\n${passed} passed, ${Math.max(failed, atLeast)} failed\n`);
  }
}

function countFailed(module: TestModule): number {
  const tests = [...module.children.allTests()];
  const states = tests.filter((test) => {
    const { state } = test.result();
    // Vitest calls tests "skipped" that a failed hook kept from running.
    return state === "failed" || state === "pending" || (state === "skipped" && hasBrokenHook(test.parent));
  });
  const isBroken = module.errors().length > 0 || tests.length === 0;
  return Math.max(states.length, isBroken ? 1 : 0);
}

function hasBrokenHook(parent: TestSuite | TestModule): boolean {
  return parent.errors().length > 0 || (parent.type === "suite" && hasBrokenHook(parent.parent));
}

/** Each sentence of a MissingPrerequisite once, and how many files it concerns. */
function missingPrerequisites(modules: readonly TestModule[]): string {
  const files = new Map<string, number>();
  for (const module of modules) {
    const suites = [...module.children.allSuites()].flatMap((suite) => suite.errors());
    const tests = [...module.children.allTests("failed")].flatMap((test) => test.result().errors ?? []);
    const errors = [...module.errors(), ...suites, ...tests].filter(({ name }) => name === "MissingPrerequisite");
    for (const message of new Set(errors.map(({ message }) => message))) files.set(message, (files.get(message) ?? 0) + 1);
  }
  if (files.size === 0) return "";
  const lines = [...files].map(([message, count]) => `  ${message} (${count} ${count === 1 ? "file" : "files"})`);
  return ["\nMissing on this machine:", ...lines, ""].join("\n");
}

/** Projects that this user cannot run are listed at the end of each run, so that nobody assumes that they were tested. */
function leftOut(): string {
  const why = whyNoCluster();
  return why === undefined ? "" : `\nLeft out: the project cluster, because ${why}.\n`;
}

function slowestFiles(modules: readonly TestModule[]): string {
  const files = modules.map((module) => {
    const { collectDuration, setupDuration, duration } = module.diagnostic();
    const seconds = (collectDuration + setupDuration + duration) / 1000;
    return { name: path.relative(process.cwd(), module.moduleId), seconds, cpuSeconds: module.meta().cpuSeconds ?? 0 };
  });
  const slowest = files.toSorted((a, b) => b.seconds - a.seconds).slice(0, SLOWEST);
  const lines = slowest.map(
    ({ name, seconds, cpuSeconds }) => `${seconds.toFixed(1).padStart(7)} s ${cpuSeconds.toFixed(1).padStart(7)} s  ${name}`,
  );
  return ["\nSlowest files, elapsed and CPU time:", ...lines, ""].join("\n");
}
