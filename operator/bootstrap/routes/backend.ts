import { HEADERS } from "../../../contract/headers.ts";
import { SENT_AGAIN_BYTES } from "../buffers.ts";
import type { EnvoyConfig } from "../envoy-config.ts";
import { PRIVATE_HEADERS, SENT_AGAIN, UNBELIEVED_HEADERS } from "./upstream.ts";

/** The routes to the single backend that extproc has named. */
export function backendRoutes(): EnvoyConfig[] {
  return routesTo({ suffix: "", further: [], retries: { retry_policy: SENT_AGAIN } });
}

/**
 * The same for streams, which may last for an hour: until a stream ends, Envoy keeps a copy of what it may send again, so only a
 * short prompt is sent again (docs/decisions/0034).
 * @param options further fields of each route.
 */
export function streamedBackendRoutes(options: EnvoyConfig): EnvoyConfig[] {
  const isShort = { name: "content-length", range_match: { start: 0, end: SENT_AGAIN_BYTES + 1 } };
  return [
    ...routesTo({ suffix: "-short", further: [isShort], retries: { retry_policy: SENT_AGAIN } }),
    ...routesTo({ suffix: "", further: [], retries: {} }),
  ].map((route) => ({ ...route, ...options }));
}

interface BackendRoutes {
  /** Of their names. */
  suffix: string;
  /** Further headers that the request must have. */
  further: EnvoyConfig[];
  retries: EnvoyConfig;
}

function routesTo({ suffix, further, retries }: BackendRoutes): EnvoyConfig[] {
  const isTimed = { name: HEADERS.timed, present_match: true };
  return [
    backendRoute({ name: `timed-backend${suffix}`, idleTimeout: "3600s", further: [isTimed, ...further], retries }),
    backendRoute({ name: `backend${suffix}`, idleTimeout: "300s", further, retries }),
  ];
}

interface BackendRoute extends Omit<BackendRoutes, "suffix"> {
  name: string;
  /**
   * Silence in both directions: an answer may stream for any time, but not be silent, nor wait for a client that no longer reads.
   * Longer than a reasoning model's usual pause; clients retry what it ends.
   */
  idleTimeout: string;
}

function backendRoute({ name, idleTimeout, further, retries }: BackendRoute): EnvoyConfig {
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
      ...retries,
    },
  };
}
