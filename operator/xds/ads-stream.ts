import { create, type MessageInitShape } from "@bufbuild/protobuf";
import type { Any } from "@bufbuild/protobuf/wkt";
import { ClusterSchema } from "../../runtime/gen/envoy/config/cluster/v3/cluster_pb.js";
import { TypedExtensionConfigSchema } from "../../runtime/gen/envoy/config/core/v3/extension_pb.js";
import { ClusterLoadAssignmentSchema } from "../../runtime/gen/envoy/config/endpoint/v3/endpoint_pb.js";
import { RouteConfigurationSchema } from "../../runtime/gen/envoy/config/route/v3/route_pb.js";
import { SecretSchema } from "../../runtime/gen/envoy/extensions/transport_sockets/tls/v3/secret_pb.js";
import {
  DiscoveryResponseSchema,
  type DiscoveryRequestSchema,
  type DiscoveryResponse,
} from "../../runtime/gen/envoy/service/discovery/v3/discovery_pb.js";
import { createJudgedCertificates, type NamedResource } from "./judged-certificates.ts";
import { withoutSecrets } from "./rejection.ts";
import { isAnswerOfProbe } from "./roots-version.ts";
import { versionOf, type Snapshot } from "./snapshot.ts";

export const CLUSTER_TYPE = `type.googleapis.com/${ClusterSchema.typeName}`;
export const SECRET_TYPE = `type.googleapis.com/${SecretSchema.typeName}`;
/** Filters of clusters. */
export const FILTER_TYPE = `type.googleapis.com/${TypedExtensionConfigSchema.typeName}`;
/** The pods of clusters. */
export const ASSIGNMENT_TYPE = `type.googleapis.com/${ClusterLoadAssignmentSchema.typeName}`;
export const ROUTE_TYPE = `type.googleapis.com/${RouteConfigurationSchema.typeName}`;

/** Clusters first: an Envoy requests what else they need when it knows them. Routes last: they name clusters. */
const TYPES = [CLUSTER_TYPE, SECRET_TYPE, FILTER_TYPE, ASSIGNMENT_TYPE, ROUTE_TYPE];

/** One Envoy's result for a snapshot. */
type Standing = { kind: "acked" } | { kind: "waiting" } | { kind: "rejected"; message: string };

type DiscoveryRequestInit = MessageInitShape<typeof DiscoveryRequestSchema>;

/** One Envoy's discovery stream: the requested types and names, what was sent and what it accepted. */
export interface AdsStream {
  /** The Envoy's node id; empty until its first request. */
  readonly node: string;
  receive(request: DiscoveryRequestInit): void;
  /** Sends everything that differs from what was last sent to this Envoy. */
  update(snapshot: Snapshot): void;
  standing(snapshot: Snapshot): Standing;
}

interface Subscription {
  /** Null: everything of the type. */
  names: ReadonlySet<string> | null;
  nonce: string;
  sentVersion: string | null;
  ackedVersion: string | null;
  rejected: { version: string; message: string } | null;
  /** Among what this Envoy requested. */
  certificates: readonly NamedResource[];
}

export interface AdsStreamDeps {
  send(response: DiscoveryResponse): void;
  /** A rejected push, with Envoy's own message. */
  onRejected(rejection: { node: string; typeUrl: string; message: string }): void;
}

export function createAdsStream({ send, onRejected }: AdsStreamDeps): AdsStream {
  const subscriptions = new Map<string, Subscription>();
  const judged = createJudgedCertificates();
  /** By nonce, certificates that were sent alone. */
  const unanswered = new Map<string, NamedResource>();
  let current: Snapshot | null = null;
  let node = "";
  let sentCount = 0;

  function receive(request: DiscoveryRequestInit): void {
    // Only a stream's first request names the node (`set_node_on_first_message_only`).
    node ||= request.node?.id ?? "";
    const { typeUrl = "", responseNonce = "" } = request;
    if (!TYPES.includes(typeUrl)) return;
    const subscription = subscriptions.get(typeUrl) ?? newSubscription();
    subscriptions.set(typeUrl, subscription);
    const error = request.errorDetail === undefined ? null : withoutSecrets(request.errorDetail.message ?? "");
    const alone = noteJudgement(responseNonce, error);
    // It replies to an older response; the reply to the newest is in transit.
    if (responseNonce !== "" && responseNonce !== subscription.nonce) return;

    if (error !== null && alone === undefined) onRejected({ node, typeUrl, message: error });
    const names = typeUrl === CLUSTER_TYPE ? null : new Set(request.resourceNames);
    const isNew = responseNonce === "" || !isSame(names, subscription.names);
    subscription.names = names;
    if (isNew) push(typeUrl, subscription);
    else if (error === null || alone !== undefined) advance(subscription);
    else if (subscription.sentVersion !== null) subscription.rejected = { version: subscription.sentVersion, message: error };
  }

  /** @returns the certificates that the response had alone, if it did. */
  function noteJudgement(nonce: string, error: string | null): NamedResource | undefined {
    const alone = unanswered.get(nonce);
    unanswered.delete(nonce);
    if (alone === undefined) return undefined;
    const message = error === null ? null : `${alone.name}: ${error}`;
    judged.add(alone, message);
    // A probe that could be read is no fault.
    if (message !== null && !isAnswerOfProbe(message)) onRejected({ node, typeUrl: SECRET_TYPE, message });
    return alone;
  }

  /** Sends the next certificates that this Envoy has not judged; without any, the answer to the whole is known. */
  function advance(subscription: Subscription): void {
    const { certificates, sentVersion } = subscription;
    if (sentVersion === null) return;
    const next = certificates.find((one) => !judged.has(one));
    if (next !== undefined) {
      transmit(SECRET_TYPE, subscription, { versionInfo: sentVersion, resources: [next] });
      unanswered.set(subscription.nonce, next);
      return;
    }
    const messages = certificates.flatMap((one) => judged.objectionTo(one) ?? []);
    if (messages.length === 0) subscription.ackedVersion = sentVersion;
    subscription.rejected = messages.length === 0 ? null : { version: sentVersion, message: messages.join(", ") };
  }

  function push(typeUrl: string, subscription: Subscription): void {
    if (current === null) return;
    const resources = wanted(current, typeUrl, subscription);
    const versionInfo = versionOf(resources.map(({ resource }) => resource));
    subscription.sentVersion = versionInfo;
    // An older acknowledgement of the same content does not count: an Envoy may have rejected something since.
    subscription.ackedVersion = null;
    subscription.rejected = null;
    const isCertificates = ({ name }: NamedResource) => typeUrl === SECRET_TYPE && current?.certificates.has(name) === true;
    subscription.certificates = resources.filter(isCertificates);
    if (typeUrl === SECRET_TYPE) judged.keep(subscription.certificates);
    const isSentNow = (one: NamedResource) => !isCertificates(one) || (judged.has(one) && judged.objectionTo(one) === null);
    transmit(typeUrl, subscription, { versionInfo, resources: resources.filter(isSentNow) });
  }

  function transmit(
    typeUrl: string,
    subscription: Subscription,
    { versionInfo, resources: named }: { versionInfo: string; resources: readonly NamedResource[] },
  ): void {
    const resources = named.map(({ resource }) => resource);
    subscription.nonce = String(++sentCount);
    send(create(DiscoveryResponseSchema, { typeUrl, versionInfo, resources, nonce: subscription.nonce }));
  }

  function update(snapshot: Snapshot): void {
    current = snapshot;
    for (const typeUrl of TYPES) {
      const subscription = subscriptions.get(typeUrl);
      if (subscription === undefined) continue;
      if (versionOfWanted(snapshot, typeUrl, subscription) !== subscription.sentVersion) push(typeUrl, subscription);
    }
  }

  function standing(snapshot: Snapshot): Standing {
    const clusters = standingOf(snapshot, CLUSTER_TYPE);
    if (clusters.kind !== "acked") return clusters;
    // An accepted cluster is not in use before its secrets, filters and pods have arrived: their names must be requested, too.
    const { secrets, filters, assignments } = snapshot;
    const others = [
      ...(secrets.size === 0 ? [] : [named(snapshot, SECRET_TYPE, secrets)]),
      ...(filters.size === 0 ? [] : [named(snapshot, FILTER_TYPE, filters)]),
      // An Envoy of an earlier version has no listener for pools, and asks for no routes.
      ...(assignments.size === 0 ? [] : [named(snapshot, ASSIGNMENT_TYPE, assignments), standingOf(snapshot, ROUTE_TYPE)]),
    ];
    return others.find(({ kind }) => kind !== "acked") ?? clusters;
  }

  function named(snapshot: Snapshot, typeUrl: string, resources: ReadonlyMap<string, Any>): Standing {
    const asked = subscriptions.get(typeUrl)?.names;
    const areAsked = [...resources.keys()].every((name) => asked?.has(name));
    return areAsked ? standingOf(snapshot, typeUrl) : { kind: "waiting" };
  }

  function standingOf(snapshot: Snapshot, typeUrl: string): Standing {
    const subscription = subscriptions.get(typeUrl);
    if (subscription === undefined) return { kind: "waiting" };
    const version = versionOfWanted(snapshot, typeUrl, subscription);
    if (subscription.rejected?.version === version) return { kind: "rejected", message: subscription.rejected.message };
    return { kind: subscription.ackedVersion === version ? "acked" : "waiting" };
  }

  return {
    get node() {
      return node;
    },
    receive,
    update,
    standing,
  };
}

function newSubscription(): Subscription {
  return { names: null, nonce: "", sentVersion: null, ackedVersion: null, rejected: null, certificates: [] };
}

/** All clusters, but of the rest only what this Envoy requested: it holds no credential that it does not use. */
function wanted(snapshot: Snapshot, typeUrl: string, { names }: Subscription): NamedResource[] {
  const all = [...snapshot[KINDS[typeUrl] ?? "secrets"]].map(([name, resource]) => ({ name, resource }));
  return typeUrl === CLUSTER_TYPE ? all : all.filter(({ name }) => names?.has(name));
}

function versionOfWanted(snapshot: Snapshot, typeUrl: string, subscription: Subscription): string {
  return versionOf(wanted(snapshot, typeUrl, subscription).map(({ resource }) => resource));
}

const KINDS: Readonly<Record<string, "clusters" | "filters" | "assignments" | "routes">> = {
  [CLUSTER_TYPE]: "clusters",
  [FILTER_TYPE]: "filters",
  [ASSIGNMENT_TYPE]: "assignments",
  [ROUTE_TYPE]: "routes",
};

function isSame(first: ReadonlySet<string> | null, second: ReadonlySet<string> | null): boolean {
  if (first === null || second === null) return first === second;
  return first.size === second.size && [...first].every((name) => second.has(name));
}
