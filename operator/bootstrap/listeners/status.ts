import type { EnvoyConfig } from "../envoy-config.ts";
import { listeningAddress, socketAddress, type SocketAddress } from "../socket-address.ts";

const ADMIN_CLUSTER = "admin";

/** The part of the admin interface that may be reached from outside the pod: read-only paths. */
const PATHS = ["/ready", "/stats/prometheus"];

/** A port for probes and metrics. The admin interface itself, which can stop the process, stays on the loopback. */
export function statusListener(address: SocketAddress): EnvoyConfig {
  return {
    name: "status",
    address: listeningAddress(address),
    // A probe refused because of too many clients would get the pod restarted or removed from the Service.
    ignore_global_conn_limit: true,
    filter_chains: [{ filters: [{ name: "envoy.filters.network.http_connection_manager", typed_config: connectionManager }] }],
  };
}

const connectionManager: EnvoyConfig = {
  "@type": "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
  stat_prefix: "status",
  codec_type: "HTTP1",
  request_headers_timeout: "5s",
  common_http_protocol_options: { idle_timeout: "60s" },
  http_filters: [
    {
      name: "envoy.filters.http.router",
      typed_config: { "@type": "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router" },
    },
  ],
  route_config: {
    name: "status",
    virtual_hosts: [
      {
        name: "status",
        domains: ["*"],
        // Anything else is Envoy's own 404.
        routes: PATHS.map((path) => ({
          match: { path, headers: [{ name: ":method", string_match: { exact: "GET" } }] },
          route: { cluster: ADMIN_CLUSTER, timeout: "10s" },
        })),
      },
    ],
  },
};

/** The admin interface as an upstream. */
export function adminCluster(address: SocketAddress): EnvoyConfig {
  return {
    name: ADMIN_CLUSTER,
    type: "STATIC",
    connect_timeout: "1s",
    load_assignment: {
      cluster_name: ADMIN_CLUSTER,
      endpoints: [{ lb_endpoints: [{ endpoint: { address: socketAddress(address) } }] }],
    },
  };
}
