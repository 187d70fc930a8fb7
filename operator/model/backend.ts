import { X509Certificate } from "node:crypto";
import type { Interface, Protocol } from "../../contract/protocol.ts";
import type { Fingerprint } from "../../runtime/credential-fingerprint.ts";
import { googleObjection } from "../address/google.ts";
import { clusterName } from "../xds/cluster-name.ts";
import { clustersOf, type Endpoint } from "../xds/endpoint.ts";
import { rootsVersion } from "../xds/roots-version.ts";
import type { SecretContent } from "../xds/secret.ts";
import type { AddressPolicy } from "../address/policy.ts";
import type { ResourceSet, SourcedModel } from "../source/source.ts";
import type { BackendResource, INTERFACES } from "./backend-resource.ts";
import { secretsOf } from "./cloud-credential.ts";
import { resolveCredential } from "./credential.ts";
import { resolvePool } from "./pool-backend.ts";
import { findSecret, type FindValue, type UnreadSecret } from "./secret-value.ts";
import type { ConditionReason } from "./status.ts";
import { SYSTEM_ROOTS } from "./usable-roots.ts";

/** A backend with its Secrets resolved: ready to be a cluster, or why not. */
export type ResolvedBackend =
  | {
      kind: "ready";
      resource: BackendResource;
      cluster: string;
      endpoint: Endpoint;
      secrets: ReadonlyMap<string, SecretContent>;
      fingerprints: readonly Fingerprint[];
      /** Secrets whose values are unknown: those Envoys use the backend that got them earlier. */
      unread: readonly UnreadSecret[];
    }
  | {
      kind: "unready";
      resource: BackendResource;
      reason: ConditionReason;
      message: string;
      /** Versions of certificates that an Envoy rejected. */
      rejected?: readonly string[];
    };

export const PROTOCOL_OF = { ChatCompletions: "chat", Messages: "messages", Responses: "responses" } as const satisfies Record<
  BackendResource["protocol"],
  Protocol
>;

export const INTERFACE_OF = {
  ...PROTOCOL_OF,
  Embeddings: "embeddings",
  Rerank: "rerank",
  ImageGeneration: "image_generation",
  Speech: "speech",
  Transcription: "transcription",
} as const satisfies Record<(typeof INTERFACES)[number], Interface>;

const DEFAULT_CONNECT_TIMEOUT_MS = 5_000;

export interface ResolveInput {
  model: SourcedModel;
  secrets: ResourceSet["secrets"];
  unreadableSecrets: ResourceSet["unreadableSecrets"];
  pools: ResourceSet["pools"];
  /** For verifying servers whose Model names no authority. */
  systemRoots: SecretContent;
  policy: AddressPolicy;
  /** Addresses of backends' hosts, by name. */
  addresses: ReadonlyMap<string, readonly string[]>;
  /** Of a credential; absent if there is none. */
  fingerprintsOf?: ((credential: string) => readonly Fingerprint[]) | undefined;
  /** What an Envoy rejected, with its messages. */
  rejected: ReadonlyMap<string, string>;
  /** Clusters that clients' requests are sent to now, with the fingerprints of their credentials. */
  applied?: AppliedClusters | undefined;
}

/** By name. */
export type AppliedClusters = ReadonlyMap<string, readonly Fingerprint[]>;

export function resolveBackend(
  resource: BackendResource,
  { model, secrets, unreadableSecrets, pools, systemRoots, policy, addresses, fingerprintsOf, rejected, applied }: ResolveInput,
): ResolvedBackend {
  const { namespace } = model.resource.metadata;
  const unready = (reason: ConditionReason, message: string) => ({ kind: "unready", resource, reason, message }) as const;
  for (const { field, host } of hostsOf(resource)) {
    const objection = policy.objection(host, addresses.get(host) ?? []);
    if (objection !== null) return unready("AddressNotAllowed", `${field}: ${objection}`);
  }
  const { url } = resource;
  const refusal = resource.credential?.google === undefined || url === undefined ? null : googleObjection(policy.google, url);
  if (refusal !== null) return unready("AddressNotAllowed", refusal);
  const used = new Map<string, SecretContent>();
  let rootsSecret = SYSTEM_ROOTS;

  const connectTimeoutMs = resource.timeouts?.connect ?? model.resource.spec.timeouts.connect ?? DEFAULT_CONNECT_TIMEOUT_MS;
  const serverAt = (address: string): Endpoint => {
    const url = new URL(address);
    const host = hostOf(url);
    const isTls = url.protocol === "https:";
    return {
      host,
      port: url.port === "" ? (isTls ? 443 : 80) : Number(url.port),
      tls: isTls ? { serverName: host, rootsSecret: SYSTEM_ROOTS } : null,
      credential: null,
      guard: policy.guardFor(host),
      connectTimeoutMs,
    };
  };
  function locate() {
    if (url !== undefined) return { kind: "server", server: serverAt(url) } as const;
    const found = resolvePool(resource.pool, { namespace, pools, policy });
    if (found.kind === "missing") return found;
    const { host, pool } = found;
    const server: Endpoint = { host, port: 0, tls: null, credential: null, guard: null, connectTimeoutMs, pool };
    return { kind: "server", server } as const;
  }
  const find: FindValue = (reference) => findSecret({ secrets, unreadableSecrets }, namespace, reference);
  const resolved = resolveCredential(resource, { find, serverAt, google: policy.google });
  if (resolved.kind === "missing") return unready(resolved.reason, resolved.message);
  const { credential } = resolved;
  for (const [name, content] of resolved.secrets) used.set(name, content);
  const unread = resolved.unread === undefined ? [] : [resolved.unread];

  if (resource.tls?.caSecretRef !== undefined) {
    const found = find(resource.tls.caSecretRef);
    if (found.kind === "missing") return unready(found.reason, found.message);
    if (found.kind === "found" && !isCertificates(found.value)) {
      return unready(
        "InvalidCertificate",
        `Secret ${found.name}, key ${resource.tls.caSecretRef.key}, must contain CA certificates in PEM`,
      );
    }
    rootsSecret = `roots/${found.name}/${resource.tls.caSecretRef.key}`;
    const version = found.kind === "found" ? rootsVersion(rootsSecret, { pem: found.value }) : "";
    const words = rejected.get(version);
    if (words !== undefined)
      return { ...unready("InvalidCertificate", `Envoy rejects the certificates of ${words}`), rejected: [version] };
    if (found.kind === "found") used.set(rootsSecret, { kind: "roots", pem: found.value });
    else unread.push(found);
  }

  const located = locate();
  if (located.kind === "missing") return unready(located.reason, located.message);
  const { server } = located;
  const tls = server.tls === null ? null : { serverName: resource.tls?.serverName ?? server.host, rootsSecret };
  const endpoint: Endpoint = { ...server, tls, credential };
  for (const [, { tls }] of clustersOf("", endpoint)) if (tls?.rootsSecret === SYSTEM_ROOTS) used.set(SYSTEM_ROOTS, systemRoots);
  const cluster = clusterName({ model: model.resource.spec.modelName, backend: resource.name, endpoint });
  const before = applied?.get(cluster);
  const [first] = unread;
  // Only what Envoys have got already can be used without the value.
  if (first !== undefined && before === undefined) return unready(first.reason, first.message);
  const fingerprints =
    resolved.unread === undefined ? resolved.words.flatMap((word) => fingerprintsOf?.(word) ?? []) : (before ?? []);
  return { kind: "ready", resource, cluster, endpoint, secrets: used, fingerprints, unread };
}

/** Names of the Secrets that a backend needs. */
export function secretsNamedBy({ credentialRef, credential, tls }: BackendResource): string[] {
  return [credentialRef?.name, ...secretsOf(credential), tls?.caSecretRef?.name].filter((name) => name !== undefined);
}

/** Names and addresses that a backend needs, with the fields that state them. */
export function hostsOf({ url, credential }: BackendResource): { field: string; host: string }[] {
  const token = credential?.oauth?.tokenUrl;
  return [
    ...(url === undefined ? [] : [{ field: "url", host: hostOf(new URL(url)) }]),
    ...(token === undefined ? [] : [{ field: "credential.oauth.tokenUrl", host: hostOf(new URL(token)) }]),
  ];
}

function hostOf({ hostname }: Pick<URL, "hostname">): string {
  // Node writes an IPv6 host in brackets.
  return hostname.replaceAll(/^\[|\]$/g, "");
}

function isCertificates(pem: string): boolean {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  // An incomplete block means nothing to Node, and makes Envoy reject the whole configuration.
  if (blocks.length !== pem.split("-----BEGIN").length - 1) return false;
  try {
    return blocks.length > 0 && blocks.every((block) => new X509Certificate(block).ca);
  } catch {
    // Not a certificate: the caller reports it.
    return false;
  }
}
