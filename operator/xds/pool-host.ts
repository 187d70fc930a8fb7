import { createHash } from "node:crypto";

/** The host of requests to a pool inside Envoy. Hosts are compared in lower case, and names of Models are not in it. */
export function poolHost(cluster: string): string {
  return `${createHash("sha256").update(cluster).digest("hex").slice(0, 32)}.pool`;
}
