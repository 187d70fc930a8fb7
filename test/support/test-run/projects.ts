import { availableParallelism, totalmem } from "node:os";
import type { TestProjectInlineConfiguration } from "vitest/config";
import { LongestFirst } from "./longest-first.ts";

/** Made examples of properties take their seed from the environment. */
const PROPERTY_SEED = "./test/support/test-run/property-seed.ts";
/** Measures what each file costs. */
const CPU_TIME = "./test/support/test-run/cpu-time.ts";
/** One server for all files. */
const POSTGRES = "./test/support/test-run/shared-postgres.ts";
/** Builds the API server, kubectl and helm unless they are built already. */
const KUBE_TOOLS = "./test/support/kube/global-setup.ts";
/** Fetches the coding tools and SDKs unless they are there already. */
const CLIENT_PACKAGES = "./test/support/clients/global-setup.ts";

/** Builds images, and starts a cluster of one node. */
const CLUSTER = "./test/support/cluster/global-setup.ts";

/**
 * Hooks wait for tools that the global set-up is still building or fetching, behind the tests that run meanwhile: on a machine
 * that is five times slower, for most of an hour.
 */
const TOOLS_WITHIN_MS = 3_600_000;

/** Files share a process: loading the product anew for each file costs as much as running its tests. */
const SHARED_PROCESS = { isolate: false };

/** One project for each folder of test/, named after what must be real for it. */
const PROJECTS = {
  unit: { ...SHARED_PROCESS, testTimeout: 60_000, hookTimeout: 60_000 },
  golden: { ...SHARED_PROCESS, testTimeout: 60_000, hookTimeout: 60_000 },
  postgres: {
    ...SHARED_PROCESS,
    testTimeout: 120_000,
    hookTimeout: 120_000,
    globalSetup: POSTGRES,
  },
  envoy: { ...SHARED_PROCESS, testTimeout: 120_000, hookTimeout: 300_000 },
  browser: { ...SHARED_PROCESS, testTimeout: 180_000, hookTimeout: 300_000 },
  fuzz: { testTimeout: 180_000, hookTimeout: 300_000 },
  clients: {
    ...SHARED_PROCESS,
    testTimeout: 120_000,
    hookTimeout: TOOLS_WITHIN_MS,
    globalSetup: CLIENT_PACKAGES,
  },
  kube: {
    ...SHARED_PROCESS,
    testTimeout: 120_000,
    hookTimeout: TOOLS_WITHIN_MS,
    globalSetup: KUBE_TOOLS,
  },
  chart: {
    ...SHARED_PROCESS,
    testTimeout: 300_000,
    hookTimeout: TOOLS_WITHIN_MS,
    globalSetup: KUBE_TOOLS,
  },
  cluster: { testTimeout: 300_000, hookTimeout: TOOLS_WITHIN_MS, globalSetup: CLUSTER },
} as const;

/** Projects with tests of properties. */
const SEEDED: readonly (keyof typeof PROJECTS)[] = ["unit", "postgres", "clients", "kube"];

/** Each file starts processes of its own, which take up to 1 GiB: half of the machine's. */
const FITTING_FILES = Math.floor(totalmem() / (2 * 1024 ** 3));

/** Most files wait for processes more than they compute. More at once would only load the product once more each. */
const FILES_AT_ONCE = Math.max(2, Math.min(7, 4 * availableParallelism(), FITTING_FILES));

/** Of a file whose tests say that they are concurrent. */
const TESTS_AT_ONCE = 12;

/** Of `expect.poll`: as patient as `eventually`. */
const POLL = { timeout: 30_000 };

/** Node.js loads the sources, as it loads the product's. With Vite's runner, each process of a run has them transformed anew. */
const NATIVE_IMPORTS = { viteModuleRunner: false, nodeLoader: false };

/** Settings of every run. */
export const RUN = {
  // For what the set-up of a run imports; each project has its own.
  experimental: NATIVE_IMPORTS,
  globalSetup: "./test/support/test-run/run-directory.ts",
  sequence: { sequencer: LongestFirst },
  reporters: ["default", "./test/support/test-run/closing-line.ts"],
};

/** The names of tests that only the night run has. */
export const NIGHT_FILES = "**/*.night";

interface ProjectChanges {
  env?: Record<string, string>;
  /** Files below the project's folder, without `.test.ts`: all but those of the night run if absent. */
  include?: readonly string[];
  /** Files of these that are left out, in the same form. */
  exclude?: readonly string[];
  testTimeout?: number;
}

export function createProject(
  name: keyof typeof PROJECTS,
  { include, exclude = [], ...changes }: ProjectChanges = {},
): TestProjectInlineConfiguration {
  const pathsOf = (files: readonly string[]) => files.map((file) => `test/${name}/${file}.test.ts`);
  return {
    test: {
      name,
      include: pathsOf(include ?? ["**/*"]),
      exclude: pathsOf(include === undefined ? [NIGHT_FILES, ...exclude] : exclude),
      maxWorkers: FILES_AT_ONCE,
      maxConcurrency: TESTS_AT_ONCE,
      expect: { poll: POLL },
      experimental: NATIVE_IMPORTS,
      setupFiles: SEEDED.includes(name) ? [CPU_TIME, PROPERTY_SEED] : [CPU_TIME],
      ...PROJECTS[name],
      ...changes,
    },
  };
}
