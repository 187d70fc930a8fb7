import type { Vouched } from "../../ledger/sign-in/vouched.ts";
import type { ProviderId } from "./config.ts";

/** For every request, including the body. */
export const PATIENCE_SECONDS = 8;

/** Values that must return with somebody whom the provider sends here. */
interface ProviderChecks {
  state: string;
  nonce: string;
  /** PKCE: proves that the one who requested the code redeems it. */
  codeVerifier: string;
}

/** A person as the provider knows them. */
export interface Arrived extends Vouched {
  /** Google: their current organization; an address alone may belong to one that they have left. */
  organization: string | null;
  /** How long ago they proved there who they are, below zero if its clock is ahead; null: it does not say, although it should. */
  provenMsAgo: number | null;
}

/** Sign-in with another service. */
export interface Provider {
  id: ProviderId;
  /** Display name. */
  name: string;
  /** It asks for a second factor itself. */
  hasSecondFactor: boolean;
  /**
   * @param options.isAgain a signed-in person proves who they are: the provider is to ask them, whether or not it knows them already.
   * @throws GatewayError `upstream_unavailable` if the provider cannot be reached.
   */
  begin(options: { isAgain: boolean }): Promise<{ address: string; checks: ProviderChecks }>;
  /**
   * @param query of the address that the browser returned to.
   * @throws GatewayError `permission_denied` for somebody whom the provider rejected; `invalid_request` for an answer to another
   * request, or a used one; `upstream_unavailable`.
   */
  finish(query: URLSearchParams, checks: ProviderChecks): Promise<Arrived>;
}
