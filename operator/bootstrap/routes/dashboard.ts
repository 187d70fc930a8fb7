import { HEADERS } from "../../../contract/headers.ts";
import type { EnvoyConfig } from "../envoy-config.ts";
import { extprocDisabled } from "../filters/extproc.ts";
import { internalTransport, type InternalTls } from "../tls/internal.ts";
import { socketAddress, type SocketAddress } from "../socket-address.ts";

export const DASHBOARD_CLUSTER = "dashboard";

/** At the root, where people look for them (S31, S32). */
export const INSTALLER_PATHS = ["/install.sh", "/install.ps1", "/install.md", "/llms.txt"];

/** Files and batches, for the holders of keys. */
export const BATCH_PATHS = ["/v1/files", "/v1/batches", "/v1/messages/batches"];

/**
 * Shorter than the dashboard's own keep-alive of 72 s (dashboard/http/mutual-tls.ts): a form sent on a connection that the
 * dashboard is just closing would fail, and must not be sent again.
 */
const IDLE_TIMEOUT = "20s";

/**
 * By default Envoy answers 503 itself from 1,024 requests on: so many uploads that stall, without a session, would shut out
 * everybody. The dashboard bounds its callers by address and account (dashboard/http/in-flight.ts), and what no longer has a
 * connection waits for one.
 */
const MAX_CONNECTIONS = 4_096;
const MAX_REQUESTS = 16_384;

/** The dashboard's process, whose port is reached only through Envoy. */
export function dashboardCluster(address: SocketAddress, tls?: InternalTls): EnvoyConfig {
  return {
    name: DASHBOARD_CLUSTER,
    type: "STRICT_DNS",
    connect_timeout: "1s",
    circuit_breakers: {
      thresholds: [{ max_connections: MAX_CONNECTIONS, max_pending_requests: MAX_REQUESTS, max_requests: MAX_REQUESTS }],
    },
    load_assignment: {
      cluster_name: DASHBOARD_CLUSTER,
      endpoints: [{ lb_endpoints: [{ endpoint: { address: socketAddress(address) } }] }],
    },
    typed_extension_protocol_options: {
      "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": {
        "@type": "type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions",
        common_http_protocol_options: { idle_timeout: IDLE_TIMEOUT },
        explicit_http_config: { http_protocol_options: {} },
      },
    },
    ...(tls === undefined
      ? {}
      : { transport_socket: internalTransport(tls, { serverName: address.host, protocol: "http/1.1" }) }),
  };
}

/**
 * The paths of the pages and of the management API, which bypass the processor. Never if it has named a backend: then the path is
 * a model server's, and may begin with the same word.
 */
export function dashboardRoutes(): EnvoyConfig[] {
  const isForClients = [{ name: HEADERS.backend, present_match: true, invert_match: true }];
  return [
    {
      name: "front door",
      match: { path: "/", headers: [...isForClients, { name: ":method", string_match: { exact: "GET" } }, asksForHtml] },
      redirect: { path_redirect: "/dashboard", response_code: "FOUND" },
      typed_per_filter_config: extprocDisabled,
    },
    ...["/dashboard", "/api/v1"].map((prefix) => ({
      name: prefix === "/dashboard" ? "dashboard" : "management API",
      match: { path_separated_prefix: prefix, headers: isForClients },
      route: { cluster: DASHBOARD_CLUSTER, timeout: "0s", idle_timeout: "60s" },
      typed_per_filter_config: extprocDisabled,
    })),
    ...BATCH_PATHS.map((prefix) => ({
      name: prefix.slice(1),
      // The processor answers preflights: it knows the origins of all keys.
      match: { path_separated_prefix: prefix, headers: [...isForClients, { ...IS_OPTIONS, invert_match: true }] },
      // Answers of any length; an upload that stalls, or an answer that nobody reads, ends.
      route: { cluster: DASHBOARD_CLUSTER, timeout: "0s", idle_timeout: "60s" },
      typed_per_filter_config: extprocDisabled,
    })),
    ...INSTALLER_PATHS.map((path) => ({
      name: path.slice(1),
      match: { path, headers: isForClients },
      route: { cluster: DASHBOARD_CLUSTER, timeout: "30s" },
      typed_per_filter_config: extprocDisabled,
    })),
  ];
}

const IS_OPTIONS = { name: ":method", string_match: { exact: "OPTIONS" } };

/** A browser does; tools that probe the base URL get JSON. */
const asksForHtml = { name: "accept", string_match: { contains: "text/html" } };
