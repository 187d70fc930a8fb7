import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import type { Logger } from "../../runtime/log.ts";

/**
 * Events between the operator and the Kubernetes API; each writes its log line and counts. Metrics have the names of
 * controller-runtime and client-go, so that their dashboards and alerts work.
 */
export interface KubeEvents {
  kubeAnswered(answer: { method: string; code: string }): void;
  relisted(list: { kind: string; objects: number }): void;
  watchEnded(end: { kind: string; error: unknown; failures: number }): void;
  eventSeen(event: { kind: string }): void;
  /** An InferencePool could not be read, for another reason than that it is not there. */
  poolUnreadable(failure: { pool: string; error: unknown }): void;
  /** A Model's Secret could not be read, for another reason than that it is not there. */
  secretUnreadable(failure: { secret: string; error: unknown }): void;
  reconciled(run: {
    name: string;
    key: string;
    result: "success" | "requeue_after" | "error";
    seconds: number;
    failure?: { error: unknown; retryMs: number };
  }): void;
  queueLength(queue: { name: string; length: number }): void;
  leading(election: { isLeader: boolean; identity: string }): void;
  leaseUnreachable(failure: { error: unknown }): void;
  /** An Event could not be written; it is lost. */
  eventLost(failure: { error: unknown }): void;
  /** Replicas could not exchange their Envoys' progress. */
  peersUnreachable(failure: { error: unknown }): void;
  /** A key was revoked because its ApiKey is gone, without a request to the operator. */
  orphanRevoked(orphan: { namespace: string; name: string }): void;
}

export function createKubeEvents({ log, metrics }: { log: Logger; metrics: Registry }): KubeEvents {
  const registers = [metrics];
  const requests = new Counter({
    name: "rest_client_requests_total",
    help: "Requests to the Kubernetes API, by status code.",
    labelNames: ["method", "code"],
    registers,
  });
  const relists = new Counter({
    name: "gateway_operator_relists_total",
    help: "Complete lists of a kind: one per watched namespace at the start, and one whenever a watch could not be resumed.",
    labelNames: ["kind"],
    registers,
  });
  const lastEvents = new Gauge({
    name: "gateway_operator_last_event_timestamp_seconds",
    help: "Time of a watch's last message; normally within the last two minutes.",
    labelNames: ["kind"],
    registers,
  });
  const reconciles = new Counter({
    name: "controller_runtime_reconcile_total",
    help: "Reconciled objects, by result.",
    labelNames: ["controller", "result"],
    registers,
  });
  const durations = new Histogram({
    name: "controller_runtime_reconcile_time_seconds",
    help: "Duration of one object's reconciliation.",
    labelNames: ["controller"],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers,
  });
  const depths = new Gauge({
    name: "workqueue_depth",
    help: "Objects waiting to be reconciled.",
    labelNames: ["name"],
    registers,
  });
  const leader = new Gauge({
    name: "leader_election_master_status",
    help: "1 in the leader, which writes; 0 in the other replicas.",
    labelNames: ["name"],
    registers,
  });
  leader.set({ name: "operator" }, 0);
  const orphans = new Counter({
    name: "gateway_operator_orphans_revoked_total",
    help: "Keys revoked because their ApiKey no longer exists.",
    registers,
  });

  return {
    kubeAnswered({ method, code }) {
      requests.inc({ method, code });
    },
    relisted({ kind, objects }) {
      relists.inc({ kind });
      lastEvents.set({ kind }, Date.now() / 1000);
      log.info({ kind, objects }, `listed ${objects} ${kind}`);
    },
    watchEnded({ kind, error, failures }) {
      // A single break is normal: the next attempt continues where this one ended.
      log[failures === 1 ? "info" : "warn"]({ kind, err: error, failures }, `the watch on ${kind} failed; retrying`);
    },
    eventSeen({ kind }) {
      lastEvents.set({ kind }, Date.now() / 1000);
    },
    poolUnreadable({ pool, error }) {
      log.warn({ pool, err: error }, `InferencePool ${pool} cannot be read; retrying`);
    },
    secretUnreadable({ secret, error }) {
      log.warn({ secret, err: error }, `Secret ${secret} cannot be read; retrying`);
    },
    reconciled({ name, key, result, seconds, failure }) {
      reconciles.inc({ controller: name, result });
      durations.observe({ controller: name }, seconds);
      if (failure === undefined) return;
      log.warn({ key, err: failure.error, retryMs: failure.retryMs }, `${name} ${key} failed to reconcile; retrying`);
    },
    queueLength({ name, length }) {
      depths.set({ name }, length);
    },
    leading({ isLeader, identity }) {
      leader.set({ name: "operator" }, isLeader ? 1 : 0);
      log.info({ identity }, isLeader ? "this replica became the leader" : "this replica is no longer the leader");
    },
    leaseUnreachable({ error }) {
      log.warn({ err: error }, "failed to read or renew the Lease");
    },
    eventLost({ error }) {
      log.warn({ err: error }, "failed to write an Event");
    },
    peersUnreachable({ error }) {
      log.warn({ err: error }, "failed to exchange Envoy states with the other replicas");
    },
    orphanRevoked({ namespace, name }) {
      orphans.inc();
      log.warn({ namespace, name }, `the key of ApiKey ${namespace}/${name} is revoked: the ApiKey no longer exists`);
    },
  };
}
