import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import process from "node:process";
import type { TestProject } from "vitest/node";
import { cacheDirectory } from "../../../local/cache-directory.ts";
import { startCluster, type RunningCluster } from "./cluster.ts";
import { prepareImages } from "./images/prepare.ts";
import { requirePackages } from "./prerequisites.ts";
import { publishState } from "./state.ts";

declare module "vitest" {
  export interface ProvidedContext {
    /** File in which the set-up says what became of the cluster (state.ts). */
    clusterState: string;
  }
}

/** Starts one cluster for all files of the project, while files of other projects run. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const directory = await mkdtemp(path.join(tmpdir(), "gateway-cluster-"));
  const file = path.join(directory, "state.json");
  project.provide("clusterState", file);
  const starting = start(file);
  return async () => {
    await (await starting)?.stop();
    await rm(directory, { recursive: true, force: true });
  };
}

/** A failure is left to the tests that need the cluster: a set-up that throws ends the whole run. */
async function start(file: string): Promise<RunningCluster | undefined> {
  const options = { environment: process.env, onProgress: (line: string) => console.log(line) };
  try {
    await requirePackages();
    const directory = path.join(cacheDirectory(process.env), "cluster");
    const cluster = await startCluster({ ...options, ...(await prepareImages({ ...options, directory })) });
    await publishState(file, { kind: "running", facts: cluster.facts });
    return cluster;
  } catch (error) {
    const { name, message } = error instanceof Error ? error : new Error(String(error));
    await publishState(file, { kind: "failed", name, message });
    return undefined;
  }
}
