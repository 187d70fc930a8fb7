import { defineConfig } from "vitest/config";
import { whyNoCluster } from "./test/support/cluster/prerequisites.ts";
import { createProject, RUN } from "./test/support/test-run/projects.ts";
import { keepTemporaryFilesInMemory } from "./test/support/test-run/temporary-directory.ts";

/** Every promise of the product. What `npm run test:night` adds is in files `*.night.test.ts`, and in long forms of others. */
// Before any set-up: projects' own come before the run's.
await keepTemporaryFilesInMemory();

export default defineConfig({
  test: {
    ...RUN,
    provide: { isNight: false },
    projects: [
      createProject("unit"),
      createProject("golden"),
      createProject("postgres"),
      createProject("envoy"),
      createProject("browser"),
      createProject("fuzz"),
      createProject("clients"),
      createProject("kube"),
      ...(whyNoCluster() === undefined
        ? // The cluster has the guide's commands in a test of its own, with real pods.
          [createProject("chart", { exclude: ["guide"] }), createProject("cluster")]
        : [createProject("chart")]),
    ],
  },
});
