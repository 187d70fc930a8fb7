import path from "node:path";
import process from "node:process";
import { afterAll, beforeAll } from "vitest";
import { cacheDirectory } from "../../../local/cache-directory.ts";
import { accessCluster, type Cluster } from "./access.ts";
import { startCluster, type RunningCluster } from "./cluster.ts";
import type { Forward } from "./forward.ts";
import { prepareImages } from "./images/prepare.ts";
import { requirePackages } from "./prerequisites.ts";

/** A cluster of one test file, which may stop parts of it. */
export interface OwnCluster extends Cluster, Pick<RunningCluster, "apiServer"> {}

/**
 * Starts a second cluster, on which nothing is installed, for the test file that calls this at its top: to stop the API server
 * of the shared one would fail every other file.
 */
export function useOwnCluster(): () => OwnCluster {
  let running: RunningCluster | undefined;
  let cluster: OwnCluster | undefined;
  const forwards: Forward[] = [];
  beforeAll(async () => {
    await requirePackages();
    const options = { environment: process.env, onProgress: (line: string) => console.log(line) };
    const prepared = await prepareImages({ ...options, directory: path.join(cacheDirectory(process.env), "cluster") });
    running = await startCluster({ ...options, ...prepared, isBare: true });
    cluster = { ...accessCluster(running.facts, forwards), apiServer: running.apiServer };
  });
  afterAll(async () => {
    for (const each of forwards) await each.close();
    await running?.stop();
  });
  return () => {
    if (cluster === undefined) throw new Error("The cluster is not running: ask for it inside a test.");
    return cluster;
  };
}
