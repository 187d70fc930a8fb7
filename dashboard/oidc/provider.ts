import type { Vouched } from "../../ledger/sign-in/vouched.ts";
import type { ProviderId } from "./config.ts";

/** Of every answer, with its body. */
export const PATIENCE_SECONDS = 8;

/** What must come back with somebody whom the provider sends here. */
interface ProviderChecks {
  state: string;
  nonce: string;
  /** PKCE: proves that who asked for the code is who redeems it. */
  codeVerifier: string;
}

/** Somebody as a provider knows them. */
export interface Arrived extends Vouched {
  /** Google: the organization that they belong to now; an address alone may be of one that they have left. */
  organization: string | null;
}

/** Sign-in at another service. */
export interface Provider {
  id: ProviderId;
  /** What people call it. */
  name: string;
  /** It asks for a second factor itself. */
  hasSecondFactor: boolean;
  /** @throws GatewayError `upstream_unavailable` while the provider is away. */
  begin(): Promise<{ address: string; checks: ProviderChecks }>;
  /**
   * @param query of the address that the browser came back to.
   * @throws GatewayError `permission_denied` for somebody whom the provider refused; `invalid_request` for an answer to
   *   another question, or one that was used; `upstream_unavailable`.
   */
  finish(query: URLSearchParams, checks: ProviderChecks): Promise<Arrived>;
}
