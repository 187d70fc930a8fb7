import type { PublishedModel } from "../../ledger/models/catalogue.ts";
import type { UnusableRoot } from "../../runtime/extra-roots.ts";
import type { AddressPolicy } from "../address/policy.ts";
import type { ResourceSet, SourcedModel } from "../source/source.ts";
import { clustersOf } from "../xds/endpoint.ts";
import type { SecretContent } from "../xds/secret.ts";
import type { SnapshotInput } from "../xds/snapshot.ts";
import {
  hostsOf,
  resolveBackend,
  secretsNamedBy,
  type AppliedClusters,
  type ResolvedBackend,
  type ResolveInput,
} from "./backend.ts";
import type { BackendResource } from "./backend-resource.ts";
import { GUARDRAIL, serversOf } from "./guardrail.ts";
import { findNameConflicts, type NameConflicts } from "./names.ts";
import { describeUnreadable } from "./secret-value.ts";
import { serveModel, type ServedModel } from "./served-model.ts";
import type { Condition, ModelStatus } from "./status.ts";
import { SYSTEM_ROOTS, usableRoots, type TrustedRoots } from "./usable-roots.ts";

export interface ReconcileInput {
  set: ResourceSet;
  nowMs: number;
  /** For verifying servers whose Model names no authority. */
  roots: TrustedRoots;
  /** See usableRoots. */
  mayProbe: boolean;
  /** Allowed locations of backends. */
  policy: AddressPolicy;
  /** Addresses of the names in `namesOf`. */
  addresses: ReadonlyMap<string, readonly string[]>;
  /** Of those names, the ones that do not exist. */
  missingHosts: ReadonlySet<string>;
  /** See ResolveInput. */
  fingerprintsOf?: ResolveInput["fingerprintsOf"];
  /** Clusters and versions of certificates that an Envoy rejected, with its messages. */
  rejected: ReadonlyMap<string, string>;
  /** By key, the served version: it replaces a Model whose new version an Envoy rejected. */
  serving: ReadonlyMap<string, ServedModel>;
  /** What clients are served with now: it stays in force if a Secret cannot be read that this process never had. */
  applied?: AppliedClusters | undefined;
}

export interface Plan {
  /** By key. */
  served: ReadonlyMap<string, ServedModel>;
  /** For extproc, through the ledger. */
  catalogue: readonly PublishedModel[];
  /** For Envoy. */
  snapshot: SnapshotInput;
  /** By key. `Programmed` is Pending if there is no problem: only a rollout makes it true. */
  statuses: ReadonlyMap<string, ModelStatus>;
  /** Every cluster and version of certificates that the resources need, as far as an Envoy can have rejected it. */
  wantedParts: ReadonlySet<string>;
  /** Of the administrator's roots. */
  unusableRoots: readonly UnusableRoot[];
  /** An Envoy is only asked which roots it can read: the plan must not come into force. */
  isProbe: boolean;
  /** When time alone changes the plan: a sunset. Null for never. */
  nextMs: number | null;
}

/** Server names whose addresses decide whether a backend is allowed. */
export function namesOf({ models }: ResourceSet, policy: AddressPolicy): Set<string> {
  const hosts = models.flatMap(({ resource }) =>
    serversOf(resource.spec).flatMap((server) => hostsOf(server).map(({ host }) => host)),
  );
  return new Set(hosts.filter((host) => policy.needsAddresses(host)));
}

/** The desired state, and each Model's status. Pure: all inputs are arguments. */
export function reconcile(input: ReconcileInput): Plan {
  const conflicts = findNameConflicts(input.set.models, namesServedBy(input));
  const roots = usableRoots(input.roots, input);
  const decisions = input.set.models.map((model) => ({
    model,
    ...decide(model, conflicts, { ...input, systemRoots: roots.content }),
  }));
  const served = new Map(decisions.flatMap(({ model, served }) => (served === null ? [] : [[model.key, served] as const])));
  return {
    served,
    catalogue: [...served.values()].map(({ model, price, schedule, batch, providerKeyFee, cost }) => ({
      model,
      price,
      schedule,
      batch,
      providerKeyFee,
      cost,
    })),
    snapshot: snapshotOf(served, decisions, roots.content),
    statuses: new Map(decisions.map(({ model, status }) => [model.key, status])),
    wantedParts: new Set([...decisions.flatMap(({ wanted }) => wanted), ...roots.rejectedVersions]),
    unusableRoots: roots.unusable,
    isProbe: roots.content.isProbe === true,
    nextMs: nextSunsetMs(input),
  };
}

/** What this process serves, and after a restart what the statuses say. */
function namesServedBy({ set, serving }: ReconcileInput): ReadonlyMap<string, readonly string[]> {
  return new Map(
    set.models.map(({ key, servedNames = [] }) => {
      const served = serving.get(key);
      return [key, served === undefined ? servedNames : namesFrom(served)];
    }),
  );
}

function namesFrom({ model }: ServedModel): string[] {
  return [model.name, ...model.aliases];
}

function nextSunsetMs({ set, nowMs }: ReconcileInput): number | null {
  const times = set.models.flatMap(({ resource }) => {
    const sunsetMs = Date.parse(resource.spec.deprecation?.sunsetTime ?? "");
    return sunsetMs > nowMs ? [sunsetMs] : [];
  });
  return times.length === 0 ? null : Math.min(...times);
}

interface Decision {
  served: ServedModel | null;
  status: ModelStatus;
  wanted: string[];
  /** An earlier version is served. */
  isStandIn: boolean;
}

function decide(model: SourcedModel, conflicts: NameConflicts, input: ReconcileInput & { systemRoots: SecretContent }): Decision {
  const { suspended, deprecation } = model.resource.spec;
  const conflict = conflicts.models.get(model.key);
  const lostAliases = conflicts.aliases.get(model.key);
  if (conflict !== undefined) return unserved(accepted(false, "NameConflict", conflict));
  const sunset = deprecation?.sunsetTime;
  if (sunset !== undefined && Date.parse(sunset) <= input.nowMs) {
    return unserved(accepted(false, "Sunset", `spec.deprecation.sunsetTime ${sunset} has passed; the Model is no longer served`));
  }

  const { set, systemRoots, policy, addresses, fingerprintsOf, rejected, applied } = input;
  const servers = serversOf(model.resource.spec).map((server) =>
    resolveBackend(server, {
      model,
      secrets: set.secrets,
      unreadableSecrets: set.unreadableSecrets,
      pools: set.pools,
      systemRoots,
      policy,
      addresses,
      fingerprintsOf,
      rejected,
      applied,
    }),
  );
  const backends = servers.filter((server) => !isHook(server));
  const hook = servers.find(isHook) ?? null;
  const ready = backends.filter((backend) => backend.kind === "ready");
  const reached = servers.filter((server) => server.kind === "ready");
  const report = (programmed: Condition): ModelStatus => ({
    conditions: [
      addressesAccepted(servers),
      ...aliasesRefused(lostAliases),
      resolvedReferences(servers, model, set),
      ...hostsFound(reached, input.missingHosts),
      programmed,
    ],
    backends: backends.map((backend) => backendStatus(backend, rejected)),
  });
  const clusters = reached.flatMap(clusterNamesOf);
  const wanted = [...clusters, ...servers.flatMap((server) => (server.kind === "unready" ? (server.rejected ?? []) : []))];
  const not = (programmed: Condition): Decision => ({ served: null, status: report(programmed), wanted, isStandIn: false });

  if (suspended) return not(programmed("Suspended", "spec.suspended is true"));
  if (!ready.some(({ resource }) => resource.weight > 0))
    return not(programmed("NotServed", "no backend with a weight is ready"));
  // Its requests would pass unchecked.
  if (hook?.kind === "unready") return not(programmed("NotServed", "its guardrail is not ready"));
  const refusal = refusalOf(clusters, rejected);
  if (refusal === undefined) {
    const pending = programmed("Pending", "waiting for Envoy and the catalogue");
    const served = serveModel(model, ready, { hook, refusedAliases: lostAliases });
    return { served, status: { ...report(pending), names: namesFrom(served) }, wanted, isStandIn: false };
  }
  const standIn = input.serving.get(model.key) ?? null;
  const isUsable = standIn !== null && isStillUsable(standIn, input);
  const suffix = isUsable ? "; the last valid version stays in force" : "";
  const decision = not(programmed("RejectedByEnvoy", `${refusal}${suffix}`));
  if (!isUsable) return decision;
  return { ...decision, served: standIn, status: { ...decision.status, names: namesFrom(standIn) }, isStandIn: true };
}

function isStillUsable({ clusters }: ServedModel, { rejected, policy, addresses }: ReconcileInput): boolean {
  return [...clusters].every(
    ([cluster, { host }]) => !rejected.has(cluster) && policy.objection(host, addresses.get(host) ?? []) === null,
  );
}

function snapshotOf(
  served: ReadonlyMap<string, ServedModel>,
  decisions: readonly Decision[],
  systemRoots: SecretContent,
): SnapshotInput {
  // A replacement has its Secrets as they were; if a current Model has the same one, that value is newer.
  const order = decisions.toSorted((first, second) => Number(second.isStandIn) - Number(first.isStandIn));
  const secrets = new Map(order.flatMap(({ served: model }) => [...(model?.secrets ?? [])]));
  // Those of a replacement may have been rejected since.
  if (secrets.has(SYSTEM_ROOTS)) secrets.set(SYSTEM_ROOTS, systemRoots);
  return { clusters: new Map([...served.values()].flatMap(({ clusters }) => [...clusters])), secrets };
}

function unserved(condition: Condition): Decision {
  return { served: null, status: { conditions: [condition], backends: [] }, wanted: [], isStandIn: false };
}

function accepted(isTrue: boolean, reason: Condition["reason"], message: string): Condition {
  return { type: "Accepted", isTrue, reason, message };
}

function programmed(reason: Condition["reason"], message: string): Condition {
  return { type: "Programmed", isTrue: false, reason, message };
}

function addressesAccepted(backends: readonly ResolvedBackend[]): Condition {
  const away = unreadyOf(backends).filter(({ reason }) => reason === "AddressNotAllowed");
  if (away.length === 0) return accepted(true, "Accepted", "the resource is valid");
  return accepted(false, "AddressNotAllowed", sentencesOf(away));
}

function resolvedReferences(backends: readonly ResolvedBackend[], model: SourcedModel, set: ResourceSet): Condition {
  const lacking = backends.flatMap(lacksOf);
  const found = lacking.length > 0 ? lacking : backends.flatMap((backend) => staleOf(backend, model, set));
  const [first] = found;
  if (first === undefined)
    return { type: "ResolvedRefs", isTrue: true, reason: "ResolvedRefs", message: "all Secrets were found" };
  const condition = { type: "ResolvedRefs", isTrue: false, reason: first.reason, message: sentencesOf(found) } as const;
  return lacking.length > 0 ? condition : { ...condition, isPartial: true };
}

/** Secrets and pools without which Envoy, or an Envoy that starts now, cannot use the backend. */
function lacksOf(backend: ResolvedBackend): Complaint[] {
  const { resource } = backend;
  if (backend.kind === "unready") return backend.reason === "AddressNotAllowed" ? [] : [backend];
  return backend.unread.map(({ reason, message }) => ({
    resource,
    reason,
    message: `${message}; gateways that have its value keep using it`,
  }));
}

/** Secrets that could be read earlier. */
function staleOf({ resource }: ResolvedBackend, { resource: { metadata } }: SourcedModel, set: ResourceSet): Complaint[] {
  const names = new Set(secretsNamedBy(resource).map((name) => `${metadata.namespace}/${name}`));
  return [...names].flatMap((name) => {
    const refusal = set.unreadableSecrets?.get(name);
    if (refusal === undefined) return [];
    const message = `${describeUnreadable(name, refusal)}; its last value stays in force`;
    return [{ resource, reason: refusal.reason, message }];
  });
}

function aliasesRefused(lost: ReadonlyMap<string, string> = new Map()): Condition[] {
  if (lost.size === 0) return [];
  const message = [...lost.values()].join("; ");
  return [{ type: "AliasesAccepted", isTrue: false, isPartial: true, reason: "NameConflict", message }];
}

/** Whether requests could succeed there. A name that could not be resolved counts as reachable. */
function hostsFound(backends: readonly ReadyBackend[], missingHosts: ReadonlySet<string>): Condition[] {
  if (backends.length === 0) return [];
  const lost = backends.flatMap((backend) => lossesOf(backend, missingHosts).map((loss) => ({ backend, ...loss })));
  const [first] = lost;
  if (first === undefined)
    return [
      { type: "Reachable", isTrue: true, reason: "Reachable", message: "no backend has a host that is known to be missing" },
    ];
  const isLost = (backend: ReadyBackend) => lost.some((each) => each.backend === backend);
  const isHookLost = backends.some((backend) => isHook(backend) && isLost(backend));
  const isPartial = !isHookLost && backends.some((backend) => backend.resource.weight > 0 && !isLost(backend));
  const message = lost.map(({ backend, words }) => `${labelOf(backend.resource)}: ${words}`).join("; ");
  return [{ type: "Reachable", isTrue: false, isPartial, reason: first.reason, message }];
}

function lossesOf({ resource, endpoint }: ReadyBackend, missingHosts: ReadonlySet<string>) {
  const hosts = hostsOf(resource).filter(({ host }) => missingHosts.has(host));
  return [
    ...hosts.map(({ field, host }) => ({
      reason: "HostNotFound" as const,
      words: `${field}: there is no host ${host}; correct the name, or create the Service or DNS record`,
    })),
    ...(endpoint.pool?.members.length === 0
      ? [{ reason: "NoReadyPods" as const, words: `pool: InferencePool ${resource.pool?.name} selects no pod that is ready` }]
      : []),
  ];
}

function isHook({ resource }: Pick<ResolvedBackend, "resource">): boolean {
  return resource.name === GUARDRAIL;
}

function labelOf({ name }: BackendResource): string {
  return name === GUARDRAIL ? name : `backend ${name}`;
}

type ReadyBackend = Extract<ResolvedBackend, { kind: "ready" }>;
type UnreadyBackend = Extract<ResolvedBackend, { kind: "unready" }>;
type Complaint = Pick<UnreadyBackend, "resource" | "reason" | "message">;

function unreadyOf(backends: readonly ResolvedBackend[]): UnreadyBackend[] {
  return backends.filter((backend) => backend.kind === "unready");
}

function sentencesOf(complaints: readonly Complaint[]): string {
  return complaints.map(({ resource, message }) => `${labelOf(resource)}: ${message}`).join("; ");
}

function backendStatus(backend: ResolvedBackend, rejected: ReadonlyMap<string, string>) {
  const { name } = backend.resource;
  if (backend.kind === "unready") return { name, isReady: false, message: backend.message };
  const refusal = refusalOf(clusterNamesOf(backend), rejected);
  return { name, isReady: refusal === undefined, message: refusal ?? "ready" };
}

/** With the one that issues its tokens. */
function clusterNamesOf({ cluster, endpoint }: ReadyBackend): string[] {
  return clustersOf(cluster, endpoint).map(([name]) => name);
}

function refusalOf(clusters: readonly string[], rejected: ReadonlyMap<string, string>): string | undefined {
  return clusters.map((cluster) => rejected.get(cluster)).find((words) => words !== undefined);
}
