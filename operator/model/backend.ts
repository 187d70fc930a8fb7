import { X509Certificate } from "node:crypto";
import type { Interface, Protocol } from "../../contract/protocol.ts";
import type { Fingerprint } from "../../runtime/credential-fingerprint.ts";
import { clusterName } from "../xds/cluster-name.ts";
import type { Endpoint } from "../xds/endpoint.ts";
import type { SecretContent } from "../xds/secret.ts";
import type { AddressPolicy } from "../address/policy.ts";
import type { ResourceSet, SourcedModel } from "../source/source.ts";
import type { BackendResource, INTERFACES } from "./backend-resource.ts";
import type { ConditionReason } from "./status.ts";

/** A backend with its Secrets resolved: ready to be a cluster, or why not. */
export type ResolvedBackend =
  | {
      kind: "ready";
      resource: BackendResource;
      cluster: string;
      endpoint: Endpoint;
      secrets: ReadonlyMap<string, SecretContent>;
      fingerprints: readonly Fingerprint[];
    }
  | { kind: "unready"; resource: BackendResource; reason: ConditionReason; message: string };

export const PROTOCOL_OF = { ChatCompletions: "chat", Messages: "messages", Responses: "responses" } as const satisfies Record<
  BackendResource["protocol"],
  Protocol
>;

export const INTERFACE_OF = { ...PROTOCOL_OF, Embeddings: "embeddings", Rerank: "rerank" } as const satisfies Record<
  (typeof INTERFACES)[number],
  Interface
>;

interface CredentialHeader {
  name: string;
  /** Of the value, in the secret's name. */
  form: "bearer" | "plain";
  valueOf(key: string): string;
}

/** The header for a server's key, and its value. */
function credentialHeaderOf({ protocol, credentialHeader: given }: BackendResource): CredentialHeader {
  const name = given ?? USUAL[protocol];
  return name === "authorization"
    ? { name, form: "bearer", valueOf: (key) => `Bearer ${key}` }
    : { name, form: "plain", valueOf: (key) => key };
}

const USUAL = {
  ChatCompletions: "authorization",
  Responses: "authorization",
  Messages: "x-api-key",
} as const satisfies Record<BackendResource["protocol"], string>;

const DEFAULT_CONNECT_TIMEOUT_MS = 5_000;
const SYSTEM_ROOTS = "roots/system";

export interface ResolveInput {
  model: SourcedModel;
  secrets: ResourceSet["secrets"];
  forbiddenSecrets: ResourceSet["forbiddenSecrets"];
  /** Certificates in PEM for verifying public servers. */
  rootsPem: string;
  policy: AddressPolicy;
  /** Addresses of backends' hosts, by name. */
  addresses: ReadonlyMap<string, readonly string[]>;
  /** Of a credential; absent if there is none. */
  fingerprintsOf?: ((credential: string) => readonly Fingerprint[]) | undefined;
}

export function resolveBackend(
  resource: BackendResource,
  { model, secrets, forbiddenSecrets, rootsPem, policy, addresses, fingerprintsOf }: ResolveInput,
): ResolvedBackend {
  const { namespace } = model.resource.metadata;
  const unready = (reason: ConditionReason, message: string) => ({ kind: "unready", resource, reason, message }) as const;
  const url = new URL(resource.url);
  const host = hostOf(url);
  const objection = policy.objection(host, addresses.get(host) ?? []);
  if (objection !== null) return unready("AddressNotAllowed", `url: ${objection}`);
  const isTls = url.protocol === "https:";
  const used = new Map<string, SecretContent>();
  let credential: Endpoint["credential"] = null;
  let rootsSecret = SYSTEM_ROOTS;
  let fingerprints: readonly Fingerprint[] = [];

  if (resource.credentialRef !== undefined) {
    const found = findSecret({ secrets, forbiddenSecrets }, namespace, resource.credentialRef);
    if (found.kind === "missing") return unready(found.reason, found.message);
    const value = found.value.trim();
    if (!/^[\x21-\x7e]+$/.test(value)) {
      return unready(
        "InvalidCredential",
        `Secret ${found.name}, key ${resource.credentialRef.key}, must be printable text without spaces`,
      );
    }
    const { name: header, form, valueOf } = credentialHeaderOf(resource);
    const secret = `credential/${found.name}/${resource.credentialRef.key}/${form}`;
    used.set(secret, { kind: "credential", headerValue: valueOf(value) });
    fingerprints = fingerprintsOf?.(value) ?? [];
    credential = { header, secret };
  }

  if (resource.tls?.caSecretRef !== undefined) {
    const found = findSecret({ secrets, forbiddenSecrets }, namespace, resource.tls.caSecretRef);
    if (found.kind === "missing") return unready(found.reason, found.message);
    if (!isCertificates(found.value)) {
      return unready(
        "InvalidCertificate",
        `Secret ${found.name}, key ${resource.tls.caSecretRef.key}, must contain CA certificates in PEM`,
      );
    }
    rootsSecret = `roots/${found.name}/${resource.tls.caSecretRef.key}`;
    used.set(rootsSecret, { kind: "roots", pem: found.value });
  } else if (isTls) {
    used.set(SYSTEM_ROOTS, { kind: "roots", pem: rootsPem });
  }

  const endpoint: Endpoint = {
    host,
    port: url.port === "" ? (isTls ? 443 : 80) : Number(url.port),
    tls: isTls ? { serverName: resource.tls?.serverName ?? host, rootsSecret } : null,
    credential,
    guard: policy.guardFor(host),
    connectTimeoutMs: resource.timeouts?.connect ?? model.resource.spec.timeouts.connect ?? DEFAULT_CONNECT_TIMEOUT_MS,
  };
  const cluster = clusterName({ model: model.resource.spec.modelName, backend: resource.name, endpoint });
  return { kind: "ready", resource, cluster, endpoint, secrets: used, fingerprints };
}

/** Name or address of a backend's server. */
export function hostOf({ hostname }: Pick<URL, "hostname">): string {
  // Node writes an IPv6 host in brackets.
  return hostname.replaceAll(/^\[|\]$/g, "");
}

type FoundSecret =
  | { kind: "found"; name: string; value: string }
  | { kind: "missing"; reason: "SecretNotFound" | "SecretForbidden" | "KeyMissing"; message: string };

function findSecret(
  { secrets, forbiddenSecrets }: Pick<ResourceSet, "secrets"> & { forbiddenSecrets: ResourceSet["forbiddenSecrets"] },
  namespace: string,
  reference: { name: string; key: string },
): FoundSecret {
  const name = `${namespace}/${reference.name}`;
  const values = secrets.get(name);
  const refusal = forbiddenSecrets?.get(name);
  if (values === undefined && refusal !== undefined)
    return { kind: "missing", reason: "SecretForbidden", message: `Secret ${name} cannot be read: ${refusal}` };
  if (values === undefined) return { kind: "missing", reason: "SecretNotFound", message: `there is no Secret ${name}` };
  const value = values.get(reference.key);
  if (value === undefined)
    return { kind: "missing", reason: "KeyMissing", message: `Secret ${name} has no key ${reference.key}` };
  return { kind: "found", name, value };
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
