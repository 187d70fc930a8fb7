import { HEADERS } from "../../../contract/headers.ts";
import type { EnvoyConfig } from "../envoy-config.ts";
import { PRIVATE_HEADERS, SENT_AGAIN, UNBELIEVED_HEADERS } from "./upstream.ts";

/** The routes to the one backend that extproc has named. @param options further fields of each route. */
export function backendRoutes(options: EnvoyConfig = {}): EnvoyConfig[] {
  return [
    {
      ...backendRoute({ name: "timed-backend", idleTimeout: "3600s", further: [{ name: HEADERS.timed, present_match: true }] }),
      ...options,
    },
    { ...backendRoute({ name: "backend", idleTimeout: "300s", further: [] }), ...options },
  ];
}

interface BackendRoute {
  name: string;
  /**
   * Silence in both directions: an answer may stream for as long as it likes, but not fall silent, nor wait for a client that
   * reads no more. Longer than a reasoning model's usual pause; clients retry what it ends.
   */
  idleTimeout: string;
  /** Further headers that the request must have. */
  further: EnvoyConfig[];
}

function backendRoute({ name, idleTimeout, further }: BackendRoute): EnvoyConfig {
  return {
    name,
    match: { prefix: "/", headers: [{ name: HEADERS.backend, present_match: true }, ...further] },
    request_headers_to_remove: [HEADERS.backend, HEADERS.timed, ...PRIVATE_HEADERS],
    response_headers_to_remove: UNBELIEVED_HEADERS,
    route: {
      cluster_header: HEADERS.backend,
      cluster_not_found_response_code: "SERVICE_UNAVAILABLE",
      auto_host_rewrite: true,
      timeout: "0s",
      idle_timeout: idleTimeout,
      retry_policy: SENT_AGAIN,
    },
  };
}
