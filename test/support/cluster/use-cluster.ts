import { afterAll, beforeAll, inject } from "vitest";
import type { ClusterFacts } from "./cluster.ts";
import { forward, type Forward } from "./forward.ts";
import { inRoom, type Room } from "./room.ts";
import { awaitCluster } from "./state.ts";

/** The cluster of the run, which other test files use at the same time: each has namespaces and a release of its own. */
export interface Cluster {
  readonly facts: ClusterFacts;
  readonly room: Omit<Room, "close">;
  /** As the administrator. @throws Error with what it complained of. */
  kubectl(words: readonly string[], input?: string): Promise<string>;
  helm(words: readonly string[], input?: string): Promise<string>;
  /** A URL on this machine that leads to an address in the cluster's network, until the end of the test file. */
  forward(host: string, port: number): Promise<string>;
}

const CLUSTER_WITHIN_MS = 1_500_000;

/** The cluster, for the test file that calls this at its top; the result gives it inside a test or a hook. */
export function useCluster(): () => Cluster {
  let cluster: Cluster | undefined;
  const forwards: Forward[] = [];
  beforeAll(async () => {
    const facts = await awaitCluster(inject("clusterState"), CLUSTER_WITHIN_MS);
    cluster = createCluster(facts, forwards);
  });
  afterAll(async () => {
    for (const each of forwards) await each.close();
  });
  return () => {
    if (cluster === undefined) throw new Error("The cluster is not running: ask for it inside a test.");
    return cluster;
  };
}

function createCluster(facts: ClusterFacts, forwards: Forward[]): Cluster {
  const room = inRoom(facts.directory, facts.pid);
  async function run(words: readonly string[], input = ""): Promise<string> {
    try {
      return await room.run(words, { input });
    } catch (error) {
      const complaint = error instanceof Error && "stderr" in error ? String(error.stderr).trim() : "";
      throw new Error(complaint === "" ? `${words[0]} ended without a word` : complaint, { cause: error });
    }
  }
  const access = `--kubeconfig=${facts.kubeconfig}`;
  return {
    facts,
    room,
    kubectl: (words, input) => run([facts.kubectl, access, ...words], input),
    helm: (words, input) => run([facts.helm, access, ...words], input),
    async forward(host, port) {
      const opened = await forward(facts.relay, { host, port });
      forwards.push(opened);
      return opened.url;
    },
  };
}
