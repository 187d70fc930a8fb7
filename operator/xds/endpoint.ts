import { isIP } from "node:net";
import type { AddressGuard } from "../address/policy.ts";
import type { ServerAddress } from "../address/google.ts";
import { METADATA_CLUSTER, tokenCluster } from "../bootstrap/listeners/tokens.ts";

/** One upstream server as Envoy reaches it. All of it but a pool's members is part of the cluster's name (`clusterName`). */
export interface Endpoint {
  host: string;
  port: number;
  /** Null: plain HTTP. */
  tls: EndpointTls | null;
  /** Null: the server takes no credential. */
  credential: EndpointCredential | null;
  /** Null: the host is an address, and was already checked. */
  guard: AddressGuard | null;
  connectTimeoutMs: number;
  /** In place of host and port, for the pods of an InferencePool; absent for a server with an address of its own. */
  pool?: EndpointPool;
}

/** Pods among which a picker chooses for each request (docs/decisions/0084). */
export interface EndpointPool {
  /** Addresses of ready pods. They come and go, so they are no part of the cluster's name. */
  members: readonly ServerAddress[];
  /** Whether the pods speak HTTP/2 without TLS; HTTP/1.1 otherwise. */
  isHttp2: boolean;
  picker: ServerAddress & {
    /** Its certificate is not verified: pickers make their own. */
    isTls: boolean;
    /** Whether requests go to any of the pods if it cannot be asked. */
    failsOpen: boolean;
  };
}

export interface EndpointTls {
  /** Sent as SNI, and the required name of the certificate. */
  serverName: string;
  /** Name of the SDS secret with the trusted roots. */
  rootsSecret: string;
}

export type EndpointCredential =
  | HeaderCredential
  | { aws: AwsCredential }
  | { oauth: OauthCredential }
  | { google: GoogleCredential };

export interface HeaderCredential {
  /** Its name, in lower case. */
  header: string;
  /** Name of the SDS secret with the header's whole value. */
  secret: string;
}

/** Signs requests (Signature Version 4). */
export interface AwsCredential {
  region: string;
  service: string;
  /** Name of the discovered filter that contains them: this filter has no SDS. Null: those of the machine or pod. */
  keys: string | null;
}

/** Fetches tokens with a client's credentials (RFC 6749, section 4.4). */
export interface OauthCredential {
  tokenUrl: string;
  /** The server of tokenUrl: a cluster of its own (`clustersOf`). */
  server: Endpoint;
  clientId: string;
  /** Name of the SDS secret with the client's secret. */
  secret: string;
  scopes: readonly string[];
}

/** Gets tokens of the identity of the machine or pod. */
export interface GoogleCredential {
  metadata: ServerAddress;
  /** Name of an SDS secret that is not sent. */
  secret: string;
}

/** Names of the secrets that Envoy requests for it. */
export function secretNamesOf({ credential, tls }: Endpoint): string[] {
  return [...secretNamesIn(credential), ...(tls === null ? [] : [tls.rootsSecret])];
}

function secretNamesIn(credential: EndpointCredential | null): string[] {
  if (credential === null) return [];
  if ("aws" in credential) return credential.aws.keys === null ? [] : [credential.aws.keys];
  if ("google" in credential) return [credential.google.secret];
  return "oauth" in credential ? [credential.oauth.secret] : [credential.secret];
}

/** An upstream's clusters by name: its own and, if it needs tokens, that of the server which issues them. */
export function clustersOf(name: string, endpoint: Endpoint): [name: string, endpoint: Endpoint][] {
  return [[name, endpoint], ...issuersOf(name, endpoint.credential)];
}

function issuersOf(name: string, credential: EndpointCredential | null): [name: string, endpoint: Endpoint][] {
  if (credential === null) return [];
  if ("oauth" in credential) return [[tokenCluster(name), credential.oauth.server]];
  if (!("google" in credential)) return [];
  const { metadata } = credential.google;
  // No guard: the administrator chose the address. It answers within the machine, or not at all.
  return [[METADATA_CLUSTER, { ...metadata, tls: null, credential: null, guard: null, connectTimeoutMs: 1_000 }]];
}

/** Of requests to it. */
export function hostHeader({ host, port, tls }: Endpoint): string {
  const name = isIP(host) === 6 ? `[${host}]` : host;
  return port === (tls === null ? 80 : 443) ? name : `${name}:${port}`;
}
