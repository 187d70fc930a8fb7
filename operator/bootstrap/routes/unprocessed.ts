import { HEADERS } from "../../../contract/headers.ts";
import type { EnvoyConfig } from "../envoy-config.ts";
import { routeByBodyLength } from "../filters/held-body.ts";

interface UnprocessedRoute {
  name: string;
  /** In addition to any path. */
  match?: EnvoyConfig;
  /** The most that Envoy buffers of a request for the processor; one byte more is a 413 (S21). */
  maxRequestBytes: number;
  /** Filter settings for this route. */
  filters?: EnvoyConfig;
}

/**
 * The route of a request before the processor has named its backend. If it never does, because it died or closed early, nothing
 * passes: without that header the route leads nowhere, which is a 503 (docs/architecture.md). A direct response would do the
 * same, but Envoy takes a limit for bodies only from real routes.
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
