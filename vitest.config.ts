import { defineConfig } from "vitest/config";
import { whyNoCluster } from "./test/support/cluster/prerequisites.ts";
import { createProject, RUN } from "./test/support/projects.ts";

const BY_DAY = ["exchange", "guide", "helm", "operation"];

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
      // The outages have minutes of their own at night: a cluster beside this one, and programs of an earlier version.
      ...(whyNoCluster() === undefined ? [createProject("cluster", { include: BY_DAY })] : []),
    ],
  },
});
