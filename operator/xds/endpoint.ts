import type { AddressGuard } from "../address/policy.ts";

/** One upstream server as Envoy reaches it. Everything in it is part of the cluster's name (`clusterName`). */
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
}

export interface EndpointTls {
  /** Sent as SNI, and the required name of the certificate. */
  serverName: string;
  /** Name of the SDS secret with the trusted roots. */
  rootsSecret: string;
}

export interface EndpointCredential {
  /** Its name, in lower case. */
  header: string;
  /** Name of the SDS secret with the header's whole value. */
  secret: string;
}
