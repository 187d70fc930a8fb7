import { isDeepStrictEqual } from "node:util";
import type { Database } from "../../ledger/postgres/database.ts";
import { readOtherReplicas, removeReplica, reportReplica, type ReplicaStanding } from "../../ledger/leases/replicas.ts";
import type { AwaitedPlan, Peers } from "../peers.ts";
import type { PushOutcome } from "../xds/serve.ts";
import type { KubeEvents } from "./events.ts";
import { createWakeUp, pause } from "../../runtime/wait.ts";

export interface LedgerPeersDeps {
  database: Database;
  /** Name of this replica. */
  replica: string;
  isLeader(): boolean;
  /** Other replicas' Envoys reject different clusters now. */
  onChange(): void;
  events: Pick<KubeEvents, "peersUnreachable">;
}

const ROUND_MS = 1_000;
const HEARTBEAT_MS = 4_000;
const POLL_MS = 100;

/** Replicas that communicate through the ledger's database. */
export function startLedgerPeers(deps: LedgerPeersDeps): Peers & { stop(): Promise<void> } {
  const { database, replica, isLeader, onChange, events } = deps;
  const stopping = new AbortController();
  const wakeUp = createWakeUp();
  let standing: ReplicaStanding | null = null;
  let isReported = true;
  let reportedAtMs = -Infinity;
  let rejected: ReadonlyMap<string, string> = new Map();

  async function reportOwn(): Promise<void> {
    const own = standing;
    if (own === null || (isReported && performance.now() - reportedAtMs < HEARTBEAT_MS)) return;
    isReported = true;
    try {
      await reportReplica(database, replica, own);
      reportedAtMs = performance.now();
    } catch (error) {
      isReported = false;
      throw error;
    }
  }

  async function ask() {
    const others = await readOtherReplicas(database, replica);
    const next = new Map(others.flatMap(({ standing }) => Object.entries(standing.rejected)));
    const isChanged = !isDeepStrictEqual(next, rejected);
    rejected = next;
    if (isChanged) onChange();
    return others.map(({ standing, replica }) => ({ ...standing, replica }));
  }

  async function run(): Promise<void> {
    let failures = 0;
    while (!stopping.signal.aborted) {
      try {
        await reportOwn();
        await ask();
        failures = 0;
      } catch (error) {
        failures += 1;
        if (failures === 1) events.peersUnreachable({ error });
      }
      await wakeUp.wait(ROUND_MS, stopping.signal);
    }
  }

  const ended = run();
  return {
    rejected: () => rejected,
    report(next) {
      if (isDeepStrictEqual(next, standing)) return;
      standing = next;
      isReported = false;
      wakeUp.wake();
    },
    async waitForAck(plan) {
      const deadlineMs = performance.now() + plan.timeoutMs;
      for (;;) {
        if (!isLeader()) return { kind: "acked", envoys: 0 };
        const outcome = judge(await ask(), plan);
        if (outcome.kind !== "late" || performance.now() > deadlineMs || stopping.signal.aborted) return outcome;
        await pause(POLL_MS, stopping.signal);
      }
    },
    async stop() {
      stopping.abort();
      await ended;
      await removeReplica(database, replica);
    },
  };
}

/** The other Envoys' result for a plan so far; "late" as long as one of them may still accept it. */
export function judge(
  others: readonly (ReplicaStanding & { replica: string })[],
  { version, has }: Pick<AwaitedPlan, "version" | "has">,
): PushOutcome {
  const refused = others.flatMap(({ rejected }) => Object.entries(rejected)).filter(([cluster]) => has(cluster));
  if (refused.length > 0) return { kind: "rejected", message: refused.map(([, words]) => words).join(", ") };
  const current = others.filter((other) => other.version === version);
  const refusal = current.find((other) => other.refusal !== null)?.refusal;
  if (refusal != null) return { kind: "rejected", message: refusal };
  const late = others.flatMap((other) => (other.version === version ? other.late : [`replica ${other.replica}`]));
  if (late.length > 0) return { kind: "late", nodes: late };
  return { kind: "acked", envoys: others.reduce((sum, { envoys }) => sum + envoys, 0) };
}
