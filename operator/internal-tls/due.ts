import { X509Certificate } from "node:crypto";
import { createSecureContext } from "node:tls";

/** A part's certificate and key, and the authority that it trusts. In PEM. */
export interface PartIdentity {
  ca: string;
  certificate: string;
  key: string;
}

export interface DueOptions {
  /** Signs the part's certificates. */
  signer: string;
  /** The part must trust it. */
  trusted: string;
  host: string;
  nowMs: number;
  renewBeforeMs: number;
}

/** Why a part needs a new certificate, as a clause; null if it does not. */
export function whyDue(part: PartIdentity, { signer, trusted, host, nowMs, renewBeforeMs }: DueOptions): string | null {
  if (!isUsable(part)) return "it cannot be read";
  if (part.ca.trim() !== trusted.trim()) return "the authority has changed";
  const certificate = new X509Certificate(part.certificate);
  if (!certificate.verify(new X509Certificate(signer).publicKey)) return "the authority has changed";
  if (certificate.checkHost(host) === undefined) return "it is issued for another name";
  if (Date.parse(certificate.validFrom) > nowMs) return "it was issued by a clock that was ahead";
  return nowMs >= endMs(part) - renewBeforeMs ? "it ends soon" : null;
}

/** When a usable certificate expires. */
export function endMs({ certificate }: Pick<PartIdentity, "certificate">): number {
  return Date.parse(new X509Certificate(certificate).validTo);
}

function isUsable({ ca, certificate, key }: PartIdentity): boolean {
  try {
    // Rejects the key of another certificate, too.
    createSecureContext({ ca, cert: certificate, key });
    return new X509Certificate(certificate).subject !== "";
  } catch {
    return false;
  }
}
