import { isIP } from "node:net";

/** This service, as browsers and authenticators tell it from others. */
export interface RelyingParty {
  /** A domain: a passkey of one is unknown to all others. */
  id: string;
  origin: string;
}

/** @returns undefined where browsers offer no passkeys: for an IP address, and for plain HTTP off this machine. */
export function relyingPartyOf(publicBaseUrl: string): RelyingParty | undefined {
  const { hostname, protocol, origin } = new URL(publicBaseUrl);
  const isAddress = isIP(hostname.replaceAll(/[[\]]/g, "")) !== 0;
  const isLocal = hostname === "localhost" || hostname.endsWith(".localhost");
  return isAddress || (protocol !== "https:" && !isLocal) ? undefined : { id: hostname, origin };
}
