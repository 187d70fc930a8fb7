import type { KubeClient } from "./client.ts";
import type { KubeEvents } from "./events.ts";
import { isKubeError } from "./kube-error.ts";
import { claimLease, leaseSchema, releaseLease, toMicroTime, type Lease } from "./lease.ts";
import { listPath, objectPath } from "./paths.ts";
import { pause } from "../../runtime/wait.ts";

export interface ElectorDeps {
  client: Pick<KubeClient, "send">;
  lease: { namespace: string; name: string };
  /** Unique to this process: a restarted Pod is another one. */
  identity: string;
  clock: { nowMs(): number };
  events: Pick<KubeEvents, "leading" | "leaseUnreachable">;
  onElected(): void;
  /**
   * Another process has the Lease, or it could not be renewed in time: this process may no longer write. It remains a candidate:
   * its Envoys need it even while the API server is down.
   */
  onLost(): void;
  times?: Partial<LeaseTimes>;
  random?: () => number;
}

/** The values of Kubernetes' own components. */
interface LeaseTimes {
  /** Others wait this long after the last renewal. */
  durationMs: number;
  /** The leader stops this long after its last renewal. */
  deadlineMs: number;
  retryMs: number;
}

const TIMES: LeaseTimes = { durationMs: 15_000, deadlineMs: 10_000, retryMs: 2_000 };

export interface Elector {
  /** Whether this process may write now. False as soon as the last renewal is too old, before anyone else can lead. */
  isLeader(): boolean;
  /** Identifies the Lease, and with it the installation, across all replicas; null before it was seen. */
  leaseUid(): string | null;
  /** Lets another process lead at once. */
  release(): Promise<void>;
}

type Attempt =
  | { kind: "held"; sinceMs: number }
  | { kind: "another's" }
  /** It could not be determined. */
  | { kind: "unknown" };

/** Within the deadline, so that there is time for another attempt: one that hangs must not cost the Lease. */
const ATTEMPT_WITHIN_MS = 4_000;

export function startElector(deps: ElectorDeps): Elector {
  const { client, lease: leaseRef, identity, clock, events, random = Math.random } = deps;
  const { durationMs, deadlineMs, retryMs } = { ...TIMES, ...deps.times };
  const stopping = new AbortController();
  const path = objectPath("leases", leaseRef);
  let seen = { resourceVersion: "", atMs: 0 };
  let uid: string | null = null;
  let renewedAtMs: number | null = null;

  const isInTime = () => renewedAtMs !== null && performance.now() - renewedAtMs < deadlineMs;

  async function read(): Promise<Lease> {
    try {
      return leaseSchema.parse(await client.send({ method: "GET", path, timeoutMs: ATTEMPT_WITHIN_MS, isUrgent: true }));
    } catch (error) {
      if (!isKubeError(error, 404)) throw error;
      const metadata = { name: leaseRef.name, namespace: leaseRef.namespace };
      const content = { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata, spec: {} };
      const body = { type: "json", content } as const;
      return leaseSchema.parse(
        await client.send({ method: "POST", path: listPath("leases", leaseRef.namespace), body, isUrgent: true }),
      );
    }
  }

  /** @throws KubeError 409 if another process was faster: the Lease was no longer as read. */
  async function write(lease: Lease, spec: object): Promise<void> {
    const content = { ...lease, apiVersion: "coordination.k8s.io/v1", kind: "Lease", spec };
    await client.send({ method: "PUT", path, body: { type: "json", content }, timeoutMs: ATTEMPT_WITHIN_MS, isUrgent: true });
  }

  async function attempt(): Promise<Attempt> {
    const startedMs = performance.now();
    try {
      const lease = await read();
      uid = lease.metadata.uid;
      if (lease.metadata.resourceVersion !== seen.resourceVersion)
        seen = { resourceVersion: lease.metadata.resourceVersion, atMs: startedMs };
      const unchangedMs = startedMs - seen.atMs;
      const now = toMicroTime(clock.nowMs());
      const spec = claimLease({ lease, unchangedMs, identity, durationSeconds: Math.ceil(durationMs / 1000), now });
      if (spec === null) return { kind: "another's" };
      await write(lease, spec);
      return { kind: "held", sinceMs: startedMs };
    } catch (error) {
      // Another writer came in between, possibly our own earlier attempt: the next read shows that.
      if (!isKubeError(error, 409)) events.leaseUnreachable({ error });
      return { kind: "unknown" };
    }
  }

  async function run(): Promise<void> {
    let isLeading = false;
    while (!stopping.signal.aborted) {
      const outcome = await attempt();
      if (stopping.signal.aborted) return;
      // Even if it was renewed in the end: writes in between were skipped.
      if (isLeading && (outcome.kind === "another's" || !isInTime())) {
        isLeading = false;
        renewedAtMs = null;
        events.leading({ isLeader: false, identity });
        deps.onLost();
      }
      if (outcome.kind === "held") {
        // Counted from before the write: others count from after it. One that hung is too old to lead by; the next may succeed.
        renewedAtMs = outcome.sinceMs;
        if (!isLeading && isInTime()) {
          isLeading = true;
          events.leading({ isLeader: true, identity });
          deps.onElected();
        }
      }
      await pause(retryMs * (1 + random() * 0.2), stopping.signal);
    }
  }

  const ended = run();
  return {
    isLeader: isInTime,
    leaseUid: () => uid,
    async release() {
      stopping.abort();
      await ended;
      if (!isInTime()) return;
      renewedAtMs = null;
      events.leading({ isLeader: false, identity });
      const lease = await read();
      if (lease.spec.holderIdentity === identity) await write(lease, releaseLease(lease, toMicroTime(clock.nowMs())));
    },
  };
}
