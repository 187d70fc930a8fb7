import { isIP } from "node:net";

/** The identity of this service for browsers and authenticators. */
export interface RelyingParty {
  /** A domain: a passkey for one is unknown to all others. */
  id: string;
  origin: string;
}

/** @returns undefined if browsers offer no passkeys: for an IP address, and for plain HTTP on another machine. */
export function relyingPartyOf(publicBaseUrl: string): RelyingParty | undefined {
  const { hostname, protocol, origin } = new URL(publicBaseUrl);
  const isAddress = isIP(hostname.replaceAll(/[[\]]/g, "")) !== 0;
  const isLocal = hostname === "localhost" || hostname.endsWith(".localhost");
  return isAddress || (protocol !== "https:" && !isLocal) ? undefined : { id: hostname, origin };
}
