import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import process from "node:process";
import type { TestProject } from "vitest/node";
import { cacheDirectory } from "../../../local/cache-directory.ts";
import { startCluster, type StartClusterOptions } from "./cluster.ts";
import { prepareImages, type Prepared } from "./images/prepare.ts";
import { lendCluster } from "./lending.ts";
import { requirePackages } from "./prerequisites.ts";

declare module "vitest" {
  export interface ProvidedContext {
    /** Socket at which test files borrow the cluster (lending.ts). */
    clusterSocket: string;
  }
}

/** Builds images while files of other projects run, and lends one cluster to all files of the project. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const directory = await mkdtemp(path.join(tmpdir(), "gateway-cluster-"));
  const socket = path.join(directory, "cluster.sock");
  project.provide("clusterSocket", socket);
  const options = { environment: process.env, onProgress: (line: string) => console.log(line) };
  const preparing = prepare(options);
  // A failure is left to the tests that need the cluster: a set-up that throws ends the whole run.
  preparing.catch(() => undefined);
  const lending = await lendCluster(socket, async () => await startCluster({ ...options, ...(await preparing) }));
  return async () => {
    await lending.stop();
    await preparing.catch(() => undefined);
    await rm(directory, { recursive: true, force: true });
  };
}

async function prepare(options: Pick<StartClusterOptions, "environment" | "onProgress">): Promise<Prepared> {
  await requirePackages();
  return await prepareImages({ ...options, directory: path.join(cacheDirectory(process.env), "cluster") });
}
