import { INTERNAL_BUFFER_BYTES } from "../buffers.ts";
import type { EnvoyConfig } from "../envoy-config.ts";

/** A listener inside this Envoy, and the only cluster by which requests reach it. */

/** @param thresholds of its circuit breaker. */
export function internalCluster(
  name: string,
  { listener, thresholds }: { listener: string; thresholds: EnvoyConfig },
): EnvoyConfig {
  return {
    name,
    type: "STATIC",
    connect_timeout: "1s",
    per_connection_buffer_limit_bytes: INTERNAL_BUFFER_BYTES,
    circuit_breakers: { thresholds: [thresholds] },
    load_assignment: {
      cluster_name: name,
      endpoints: [{ lb_endpoints: [{ endpoint: { address: { envoy_internal_address: { server_listener_name: listener } } } }] }],
    },
    typed_extension_protocol_options: {
      "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": {
        "@type": "type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions",
        // Only over HTTP/1.1 does a connection outlive the reset of its stream, and Envoy 1.40 crashes when it is stopped during
        // an attempt over HTTP/2 (docs/decisions/0016).
        explicit_http_config: { http_protocol_options: {} },
      },
    },
  };
}

/** The Envoy extension required for internal listeners. */
export const internalListeners: EnvoyConfig = {
  name: "envoy.bootstrap.internal_listener",
  typed_config: {
    "@type": "type.googleapis.com/envoy.extensions.bootstrap.internal_listener.v3.InternalListener",
    // Data in transit between the two ends of a connection.
    buffer_size_kb: INTERNAL_BUFFER_BYTES / 1024,
  },
};

export function internalListener(name: string, connectionManager: EnvoyConfig): EnvoyConfig {
  return {
    name,
    internal_listener: {},
    // Its connections belong to clients that were already counted.
    ignore_global_conn_limit: true,
    per_connection_buffer_limit_bytes: INTERNAL_BUFFER_BYTES,
    filter_chains: [{ filters: [{ name: "envoy.filters.network.http_connection_manager", typed_config: connectionManager }] }],
  };
}
