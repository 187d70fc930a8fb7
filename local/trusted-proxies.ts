import { readEnv } from "../runtime/env.ts";
import { TRUSTED_PROXY_VARIABLES, trustedProxies } from "../runtime/trusted-proxies.ts";

/**
 * The variables that name the proxies in front of Envoy, for the processes that look at a client's address.
 * @throws Error with one sentence if a value is invalid: the processes would write it only into their logs.
 */
export function pickTrustedProxies(environment: Readonly<Record<string, string | undefined>>): Readonly<Record<string, string>> {
  const { TRUSTED_PROXY_HOPS = "", TRUSTED_PROXY_NETWORKS = "" } = environment;
  const given = Object.entries({ TRUSTED_PROXY_HOPS, TRUSTED_PROXY_NETWORKS }).filter(([, value]) => value !== "");
  const variables = Object.fromEntries(given);
  trustedProxies(readEnv(TRUSTED_PROXY_VARIABLES, variables));
  return variables;
}
