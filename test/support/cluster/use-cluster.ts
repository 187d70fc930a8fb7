import { afterAll, beforeAll, inject } from "vitest";
import { accessCluster, type Cluster } from "./access.ts";
import type { Forward } from "./forward.ts";
import { borrowCluster, type ClusterLoan } from "./lending.ts";

const CLUSTER_WITHIN_MS = 1_500_000;

/**
 * The cluster of the run, for the test file that calls this at its top; the result gives it inside a test or a hook. Other
 * test files use it at the same time: each has namespaces and a release of its own.
 */
export function useCluster(): () => Cluster {
  let cluster: Cluster | undefined;
  let loan: ClusterLoan | undefined;
  const forwards: Forward[] = [];
  beforeAll(async () => {
    loan = await borrowCluster(inject("clusterSocket"), CLUSTER_WITHIN_MS);
    cluster = accessCluster(loan.facts, forwards);
  });
  afterAll(async () => {
    for (const each of forwards) await each.close();
    loan?.giveBack();
  });
  return () => {
    if (cluster === undefined) throw new Error("The cluster is not running: ask for it inside a test.");
    return cluster;
  };
}
