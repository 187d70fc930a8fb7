import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import type { TestProject } from "vitest/node";
import { forgetEarlierWeeks } from "./compile-cache.ts";
import { kubeServersSocket } from "../kube/lent.ts";
import { stacksSocket } from "../shared-stacks/lent.ts";
import { startPool } from "./pool.ts";
import { findPrograms } from "./programs.ts";

declare module "vitest" {
  export interface ProvidedContext {
    /** Shared by all test files of one run, and removed at its end. */
    runDirectory: string;
    /** True in `npm run test:night`, which runs the long form of some tests. */
    isNight: boolean;
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const directory = await mkdtemp(path.join(tmpdir(), "model-gateway-run-"));
  project.provide("runDirectory", directory);
  // Once, before workers would each.
  await findPrograms();
  // Most runs of single files borrow nothing, and need not load what these are made of.
  const stacks = await startPool(stacksSocket(directory), async (manifests) => {
    const { startSharedStack } = await import("../shared-stacks/shared-stack.ts");
    return await startSharedStack(directory, manifests);
  });
  const kubeServers = await startPool(kubeServersSocket(directory), async () => {
    const { startSharedKubeServers } = await import("../kube/shared-servers.ts");
    return await startSharedKubeServers();
  });
  const forgetting = forgetEarlierWeeks();
  return async () => {
    await stacks.stop();
    await kubeServers.stop();
    await forgetting;
    await rm(directory, { recursive: true, force: true });
  };
}
