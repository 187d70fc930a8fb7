import type { EnvoyConfig } from "../envoy-config.ts";

/** The last HTTP filter. Envoy's own headers concern neither the provider nor the client. */
export const ROUTER_FILTER: EnvoyConfig = {
  name: "envoy.filters.http.router",
  typed_config: {
    "@type": "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router",
    suppress_envoy_headers: true,
  },
};
