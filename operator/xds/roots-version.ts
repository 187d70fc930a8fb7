import { createHash } from "node:crypto";
import type { SecretContent } from "./secret.ts";

/** One content of a secret with certificates, as what an Envoy rejected: the correction is another one. */
export function rootsVersion(name: string, { pem, isProbe }: Omit<Extract<SecretContent, { kind: "roots" }>, "kind">): string {
  const kind = isProbe === true ? "probe" : "";
  return `${name}@${createHash("sha256").update(`${kind} ${pem}`).digest("hex").slice(0, 16)}`;
}

/** Whether an Envoy could read the certificates of a probe: it got as far as the revocation list, which nothing can read. */
export function isAnswerOfProbe(message: string): boolean {
  return message.includes("Failed to load CRL");
}
