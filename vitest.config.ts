import { defineConfig } from "vitest/config";
import { whyNoCluster } from "./test/support/cluster/prerequisites.ts";
import { createProject, RUN } from "./test/support/projects.ts";
import { keepTemporaryFilesInMemory } from "./test/support/temporary-directory.ts";

/** What the night run adds on the node: faults under load, which take long and need the machine for themselves. */
const AT_NIGHT = ["kills", "outages"];

/** Every promise of the product. `npm run test:night` takes more time and other seeds. */
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
      createProject("chart"),
      ...(whyNoCluster() === undefined ? [createProject("cluster", { exclude: AT_NIGHT })] : []),
    ],
  },
});
