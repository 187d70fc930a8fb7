import { defineConfig } from "vitest/config";

/** Builds the API server, kubectl and helm where they are not built yet. */
const KUBE_TOOLS = "./test/support/kube/global-setup.ts";

/** Where properties are tested with made examples. */
const PROPERTY_SEED = "./test/support/property-seed.ts";

/** Each fuzzer runs for FUZZ_SECONDS, and tells afterwards. */
const FUZZ_TIMEOUT_MS = Number(process.env["FUZZ_SECONDS"] ?? "20") * 1000 + 120_000;
/** Fetches the coding tools and SDKs where they are not yet. */
const CLIENT_PACKAGES = "./test/support/clients/global-setup.ts";

/** Most files wait for processes more than they compute. Each starts its own, so that more at once take much memory. */
const FILES_AT_ONCE = 2;

/** One project a folder of test/, named after what must be real for it. */
export default defineConfig({
  test: {
    reporters: ["default", "./test/support/closing-line.ts"],
    // `--update=none` would still write new snapshots; in CI none are written at all.
    projects: [
      project("unit", { testTimeout: 10_000, setupFiles: PROPERTY_SEED }),
      project("golden", { testTimeout: 60_000 }),
      project("postgres", { testTimeout: 60_000, hookTimeout: 120_000, setupFiles: PROPERTY_SEED }),
      project("envoy", { testTimeout: 120_000, hookTimeout: 300_000 }),
      project("browser", { testTimeout: 180_000, hookTimeout: 300_000 }),
      project("fuzz", { testTimeout: FUZZ_TIMEOUT_MS, hookTimeout: 300_000 }),
      project("clients", {
        testTimeout: 120_000,
        hookTimeout: 300_000,
        setupFiles: PROPERTY_SEED,
        globalSetup: CLIENT_PACKAGES,
      }),
      project("kube", { testTimeout: 120_000, hookTimeout: 300_000, setupFiles: PROPERTY_SEED, globalSetup: KUBE_TOOLS }),
      project("chart", { testTimeout: 120_000, hookTimeout: 300_000, globalSetup: KUBE_TOOLS }),
    ],
  },
});

interface ProjectOptions {
  testTimeout: number;
  hookTimeout?: number;
  setupFiles?: string;
  globalSetup?: string;
}

function project(name: string, options: ProjectOptions) {
  return { test: { name, include: [`test/${name}/**/*.test.ts`], maxWorkers: FILES_AT_ONCE, ...options } };
}
