import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import type { TestProject } from "vitest/node";
import { forgetEarlierWeeks } from "./compile-cache.ts";
import { startStackPool } from "../shared-stacks/pool.ts";

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
  const stacks = await startStackPool(directory);
  const forgetting = forgetEarlierWeeks();
  return async () => {
    await stacks.stop();
    await forgetting;
    await rm(directory, { recursive: true, force: true });
  };
}
