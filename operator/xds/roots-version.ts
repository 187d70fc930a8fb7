import { createHash } from "node:crypto";

/** One content of a secret with certificates, as what an Envoy rejected: the correction is another one. */
export function rootsVersion(name: string, pem: string): string {
  return `${name}@${createHash("sha256").update(pem).digest("hex").slice(0, 16)}`;
}
