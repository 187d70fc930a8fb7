import { HEADERS } from "../../../contract/headers.ts";
import type { EnvoyConfig } from "../envoy-config.ts";
import { routeByBodyLength } from "../filters/held-body.ts";

interface UnprocessedRoute {
  name: string;
  /** Beside any path. */
  match?: EnvoyConfig;
  /** Most that Envoy holds of a request for the processor; one byte more is a 413 (S21). */
  maxRequestBytes: number;
  /** Filters' settings of this route. */
  filters?: EnvoyConfig;
}

/**
 * Where a request is before the processor has named its backend. One that never does, because it died or closed early, lets
 * nothing through: without that header the route leads nowhere, which is a 503 (docs/architecture.md). A direct response would
 * say the same, but Envoy takes a limit for bodies from real routes only.
 */
export function unprocessedRoutes({ name, match = {}, maxRequestBytes, filters }: UnprocessedRoute): EnvoyConfig[] {
  return routeByBodyLength(
    {
      name,
      match: { ...("path" in match ? {} : { prefix: "/" }), ...match },
      ...(filters === undefined ? {} : { typed_per_filter_config: filters }),
      route: { cluster_header: HEADERS.backend, cluster_not_found_response_code: "SERVICE_UNAVAILABLE" },
    },
    { maxRequestBytes },
  );
}
