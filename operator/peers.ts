import type { ReplicaStanding } from "../ledger/leases/replicas.ts";
import type { PushOutcome } from "./xds/serve.ts";

/** The other replicas of the operator, to which other Envoys are connected. */
export interface Peers {
  /** Clusters that their Envoys refused, with the words. */
  rejected(): ReadonlyMap<string, string>;
  /** How far the Envoys of this replica are. */
  report(standing: ReplicaStanding): void;
  /** Waits until the others' Envoys have what the Models ask for. At once where this replica publishes nothing. */
  waitForAck(plan: AwaitedPlan): Promise<PushOutcome>;
}

export interface AwaitedPlan {
  version: string;
  /** Is the cluster a part of it? */
  has(cluster: string): boolean;
  timeoutMs: number;
}

/** The operator alone. */
export const NO_PEERS: Peers = {
  rejected: () => new Map(),
  report: () => undefined,
  waitForAck: async () => ({ kind: "acked", envoys: 0 }),
};
