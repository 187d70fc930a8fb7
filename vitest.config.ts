import { defineConfig } from "vitest/config";
import { whyNoCluster } from "./test/support/cluster/prerequisites.ts";
import { createProject, RUN } from "./test/support/projects.ts";

/** Every promise of the product, in about twelve minutes. `npm run test:night` takes more time and other seeds. */
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
      ...(whyNoCluster() === undefined ? [createProject("cluster")] : []),
    ],
  },
});
