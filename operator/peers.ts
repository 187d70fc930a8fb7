import type { ReplicaStanding } from "../ledger/leases/replicas.ts";
import type { PushOutcome } from "./xds/serve.ts";

/** The other replicas of the operator, to which other Envoys are connected. */
export interface Peers {
  /** Clusters that their Envoys rejected, with the messages. */
  rejected(): ReadonlyMap<string, string>;
  /** Progress of this replica's Envoys. */
  report(standing: ReplicaStanding): void;
  /** Waits until the others' Envoys have the Models' configuration. Immediate if this replica does not publish. */
  waitForAck(plan: AwaitedPlan): Promise<PushOutcome>;
}

export interface AwaitedPlan {
  version: string;
  /** Whether the cluster belongs to it. */
  has(cluster: string): boolean;
  timeoutMs: number;
}

/** A single operator. */
export const NO_PEERS: Peers = {
  rejected: () => new Map(),
  report: () => undefined,
  waitForAck: async () => ({ kind: "acked", envoys: 0 }),
};
