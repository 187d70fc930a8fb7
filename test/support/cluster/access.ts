import type { ClusterFacts } from "./cluster.ts";
import { forward, type Forward } from "./forward.ts";
import { inRoom, type Room } from "./room.ts";

/** What tests do with a running cluster. */
export interface Cluster {
  readonly facts: ClusterFacts;
  readonly room: Omit<Room, "close">;
  /** Runs a program in the cluster's network, as the administrator. @throws Error with what it wrote to standard error. */
  run(words: readonly string[], input?: string): Promise<string>;
  kubectl(words: readonly string[], input?: string): Promise<string>;
  helm(words: readonly string[], input?: string): Promise<string>;
  /** A URL on this machine that leads to an address in the cluster's network, until the end of the test file. */
  forward(host: string, port: number): Promise<string>;
}

/** @param forwards collects what has to be closed afterwards. */
export function accessCluster(facts: ClusterFacts, forwards: Forward[]): Cluster {
  const room = inRoom(facts.directory, facts.pid);
  async function run(words: readonly string[], input = ""): Promise<string> {
    try {
      return await room.run(["env", `KUBECONFIG=${facts.kubeconfig}`, ...words], { input });
    } catch (error) {
      const complaint = error instanceof Error && "stderr" in error ? String(error.stderr).trim() : "";
      throw new Error(complaint === "" ? `${words[0]} failed and wrote nothing to standard error` : complaint, { cause: error });
    }
  }
  return {
    facts,
    room,
    run,
    kubectl: (words, input) => run([facts.kubectl, ...words], input),
    helm: (words, input) => run([facts.helm, ...words], input),
    async forward(host, port) {
      const opened = await forward(facts.relay, { host, port });
      forwards.push(opened);
      return opened.url;
    },
  };
}
