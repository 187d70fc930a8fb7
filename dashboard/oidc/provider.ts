import type { Vouched } from "../../ledger/people/vouched.ts";
import type { ProviderConfig, ProviderId } from "./config.ts";
import { createGithub } from "./github.ts";
import { createOidc } from "./openid-connect.ts";

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

/** Nothing is asked of a provider until somebody signs in. */
export function createProvider(config: ProviderConfig, options: { publicBaseUrl: string }): Provider {
  return config.id === "github" ? createGithub(config, options) : createOidc(config, options);
}
