import { defineConfig } from "vitest/config";
import { whyNoCluster } from "./test/support/cluster/prerequisites.ts";
import { createProject, NIGHT_FILES, RUN } from "./test/support/test-run/projects.ts";
import { keepTemporaryFilesInMemory } from "./test/support/test-run/temporary-directory.ts";

/**
 * What need not be proven again at every change: files named `*.night.test.ts`, the long forms of tests that `npm test` runs in
 * a short one, and random examples with a new seed each night. Seeds are printed; set them to repeat a failure.
 */
const HOUR_MS = 3_600_000;
const SEEDS = ["PROPERTY_SEED", "GATEWAY_MODEL_SEED", "FUZZ_SEED", "CHAOS_SEED"];
const seeds = Object.fromEntries(SEEDS.map((name) => [name, process.env[name] ?? String(Math.ceil(Math.random() * 1e9))]));
console.log(
  Object.entries(seeds)
    .map((seed) => seed.join("="))
    .join(" "),
);
const env = { GATEWAY_MODEL_STEPS: "10000", FUZZ_SECONDS: "300", ...seeds };

// Before any set-up: projects' own come before the run's.
await keepTemporaryFilesInMemory();

export default defineConfig({
  test: {
    ...RUN,
    provide: { isNight: true },
    projects: [
      createProject("unit", { env, include: ["**/*"] }),
      createProject("golden", { include: ["**/*"], testTimeout: HOUR_MS }),
      createProject("postgres", { env, include: [NIGHT_FILES, "credit/model", "credit/settle"], testTimeout: HOUR_MS }),
      createProject("envoy", {
        env,
        include: [
          NIGHT_FILES,
          "requests/bad-input",
          "failures/damaged-journal",
          "failures/extproc-ends",
          "load/fairness",
          "answers/golden-streams",
          "failures/rolling-restart",
        ],
        testTimeout: HOUR_MS,
      }),
      createProject("browser", { include: [NIGHT_FILES, "failures", "journey", "playground", "widths"], testTimeout: HOUR_MS }),
      createProject("fuzz", { env, testTimeout: HOUR_MS }),
      createProject("clients", { include: [NIGHT_FILES, "sdks", "settings-files", "tools"], testTimeout: HOUR_MS }),
      createProject("kube", { env, include: [NIGHT_FILES, "operator/faults"], testTimeout: HOUR_MS }),
      createProject("chart", { include: [NIGHT_FILES, "earlier-values", "guide", "render"], testTimeout: HOUR_MS }),
      ...(whyNoCluster() === undefined ? [createProject("cluster", { include: [NIGHT_FILES] })] : []),
    ],
  },
});
