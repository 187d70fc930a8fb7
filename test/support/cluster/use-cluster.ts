import { afterAll, beforeAll, inject } from "vitest";
import { accessCluster, type Cluster } from "./access.ts";
import type { Forward } from "./forward.ts";
import { awaitCluster } from "./state.ts";

const CLUSTER_WITHIN_MS = 1_500_000;

/**
 * The cluster of the run, for the test file that calls this at its top; the result gives it inside a test or a hook. Other
 * test files use it at the same time: each has namespaces and a release of its own.
 */
export function useCluster(): () => Cluster {
  let cluster: Cluster | undefined;
  const forwards: Forward[] = [];
  beforeAll(async () => {
    const facts = await awaitCluster(inject("clusterState"), CLUSTER_WITHIN_MS);
    cluster = accessCluster(facts, forwards);
  });
  afterAll(async () => {
    for (const each of forwards) await each.close();
  });
  return () => {
    if (cluster === undefined) throw new Error("The cluster is not running: ask for it inside a test.");
    return cluster;
  };
}
