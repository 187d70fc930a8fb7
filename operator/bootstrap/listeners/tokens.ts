import type { EnvoyConfig } from "../envoy-config.ts";
import { tokenFilterEnabled } from "../filters/tokens.ts";
import { endpointAddress, type EndpointAddress } from "../socket-address.ts";

/**
 * Requests for OAuth tokens (xds/oauth-token.ts) leave Envoy and come back through the listener for extproc (early-answers.ts).
 * Envoy makes them itself, and its check of addresses (xds/upstream-guard.ts) skips requests that came over no connection. An
 * internal listener does not do: Envoy's main thread makes these requests, and reaches none.
 */
export const TOKENS_CLUSTER = "tokens";

/** Of a request for a token. */
export const TOKEN_TIMEOUT_MS = 10_000;

/** The name of a cluster that issues tokens: it is the host of requests for them. */
export function tokenCluster(name: string): string {
  return `${name}/token`.replaceAll("/", SEPARATOR);
}

/** Allowed in a host, and in the name of no Model, backend or other cluster. */
const SEPARATOR = "~";

/** The metadata server of the machine or pod, for all Models. */
export const METADATA_CLUSTER = `google${SEPARATOR}metadata`;

/** The listener as an upstream. */
export function tokensCluster(address: EndpointAddress): EnvoyConfig {
  return {
    name: TOKENS_CLUSTER,
    type: "STATIC",
    connect_timeout: "1s",
    load_assignment: {
      cluster_name: TOKENS_CLUSTER,
      endpoints: [{ lb_endpoints: [{ endpoint: { address: endpointAddress(address) } }] }],
    },
  };
}

/** Comes after extproc's routes: a client chooses the host of its requests, and extproc keeps it. */
export function tokenRoute(): EnvoyConfig {
  return {
    name: "token",
    match: {
      prefix: "/",
      headers: [
        {
          name: ":authority",
          string_match: { safe_regex: { regex: `^(model${SEPARATOR}.+${SEPARATOR}token|${METADATA_CLUSTER})$` } },
        },
      ],
    },
    // The metadata server refuses requests that seem to have passed a proxy.
    request_headers_to_remove: ["x-forwarded-for", "x-forwarded-proto", "x-envoy-internal"],
    route: {
      cluster_header: ":authority",
      cluster_not_found_response_code: "SERVICE_UNAVAILABLE",
      auto_host_rewrite: true,
      timeout: `${TOKEN_TIMEOUT_MS / 1_000}s`,
    },
    typed_per_filter_config: tokenFilterEnabled,
  };
}
