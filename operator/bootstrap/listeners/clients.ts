import type { EnvoyConfig } from "../envoy-config.ts";
import { TAGS_HEADER } from "../../../contract/labels.ts";
import { HEADERS } from "../../../contract/headers.ts";
import { attemptsRoutes } from "./attempts.ts";
import { backendRoutes } from "../routes/backend.ts";
import { brokenAnswerLog } from "../filters/broken-answer-log.ts";
import { CLIENT_STREAM_BYTES, CLIENT_WINDOW_BYTES, CONNECTION_BUFFER_BYTES, MAX_CLIENT_HEADERS_KIB } from "../buffers.ts";
import { PEER_APPENDED } from "../filters/client-address.ts";
import { clientMetadataFilter } from "../filters/client-metadata.ts";
import { clientTransport, type ClientTls } from "../tls/client.ts";
import { CROSS_ORIGIN_HEADERS } from "../filters/cross-origin.ts";
import { dashboardRoutes } from "../routes/dashboard.ts";
import { earlyAnswerRoute } from "./early-answers.ts";
import { extprocEnabled, extprocFilter, type ExtprocFilterOptions } from "../filters/extproc.ts";
import { heldAnswerLog, MEASURE_ANSWERS } from "../filters/held-answer-log.ts";
import { localReplies } from "../filters/local-replies.ts";
import { plainHttpChain, TLS_INSPECTOR, WITH_TLS } from "./plain-http.ts";
import { ROUTER_FILTER } from "../filters/router.ts";
import { reconnectFilter } from "../filters/reconnect.ts";
import { relayRoute } from "./relay.ts";
import { REQUEST_ID_AS_IT_IS, requestIdFilter } from "../filters/request-id.ts";
import { listeningAddress, socketAddress, type EndpointAddress, type SocketAddress } from "../socket-address.ts";
import { tracing, type TraceCollector } from "../filters/tracing.ts";
import { unprocessedRoutes } from "../routes/unprocessed.ts";

export interface ListenerOptions {
  listen: SocketAddress;
  /** Bytes; see BootstrapOptions. */
  maxRequestBytes: number;
  extproc: ExtprocFilterOptions;
  accessLog: EnvoyConfig;
  /** Without spans if absent. */
  traces?: TraceCollector;
  /** Without TLS if absent. */
  clientTls?: ClientTls;
  /** Whether there is a dashboard behind this port. */
  hasDashboard: boolean;
}

/** The port for clients: HTTP/1.1 and HTTP/2, one route, one processor. */
export function listener(options: ListenerOptions): EnvoyConfig {
  return {
    name: "clients",
    address: listeningAddress(options.listen),
    per_connection_buffer_limit_bytes: CONNECTION_BUFFER_BYTES,
    per_connection_buffer_high_watermark_timeout: UNREAD_ANSWER_ENDS,
    max_connections_to_accept_per_socket_event: NEW_CONNECTIONS_AT_ONCE,
    // Network balancers, NAT and firewalls drop silent connections, and the first token may take minutes.
    tcp_keepalive: { keepalive_time: 20, keepalive_interval: 20, keepalive_probes: 6 },
    socket_options: [UNREAD_CONNECTIONS_END],
    ...(options.clientTls === undefined ? {} : { listener_filters: [TLS_INSPECTOR] }),
    filter_chains: [
      {
        name: "clients",
        ...(options.clientTls === undefined ? {} : { filter_chain_match: WITH_TLS }),
        filters: [{ name: "envoy.filters.network.http_connection_manager", typed_config: connectionManager(options) }],
        ...(options.clientTls === undefined ? {} : { transport_socket: clientTransport(options.clientTls) }),
      },
      ...(options.clientTls === undefined ? [] : [plainHttpChain({ accessLog: options.accessLog, identity })]),
    ],
  };
}

export interface BatchesListenerOptions extends Omit<ListenerOptions, "listen" | "clientTls"> {
  /** A pod's loopback, or a Unix socket that only this user can access. */
  address: EndpointAddress;
}

/**
 * The port for the requests of batches, which extproc sends: like that for clients, but inside, so without TLS. Whoever reaches it
 * can do no more than any client, and needs a key as well (docs/decisions/0086).
 */
export function batchesListener({ address, ...options }: BatchesListenerOptions): EnvoyConfig {
  const manager = connectionManager(options, "batches");
  return {
    name: "batches",
    address: "path" in address ? { pipe: { path: address.path, mode: 0o600 } } : socketAddress(address),
    // There are a few of them, whatever clients do.
    ignore_global_conn_limit: true,
    per_connection_buffer_limit_bytes: CONNECTION_BUFFER_BYTES,
    filter_chains: [{ filters: [{ name: "envoy.filters.network.http_connection_manager", typed_config: manager }] }],
  };
}

/**
 * A client that keeps its connection's buffer more than half full for this long is cut off, even if it reads a byte now and then.
 * Over HTTP/1.1 Envoy buffers a complete answer there, and has reported to extproc that its stream is over. 32 MiB take 2 Mbit/s.
 */
const UNREAD_ANSWER_ENDS = "120s";

/** Then the open connections have their turn. Without a bound, all that wait are accepted first, however many come meanwhile. */
const NEW_CONNECTIONS_AT_ONCE = 1;

/**
 * TCP_USER_TIMEOUT, in milliseconds: the kernel cuts off a client that accepts nothing for this long, like one that has left.
 * Sooner than the routes' 300 s and a Model's usual `idle`, which would count it as silence of the model server.
 */
const UNREAD_CONNECTIONS_END: EnvoyConfig = {
  description: "TCP_USER_TIMEOUT",
  level: 6,
  name: 18,
  int_value: 240_000,
  // Accepted connections inherit it.
  state: "STATE_LISTENING",
};

function connectionManager(options: Omit<ListenerOptions, "listen" | "clientTls">, name = "clients"): EnvoyConfig {
  return {
    "@type": "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
    stat_prefix: name,
    codec_type: "AUTO",
    server_name: "model-gateway",
    access_log: [options.accessLog, brokenAnswerLog(), heldAnswerLog()],
    access_log_options: MEASURE_ANSWERS,
    ...(options.traces === undefined ? {} : { tracing: tracing(options.traces, { hasUpstreamSpans: true }) }),
    ...limits,
    ...paths,
    ...identity,
    http_filters: [
      requestIdFilter({ request: [PEER_APPENDED], response: CROSS_ORIGIN_HEADERS }),
      reconnectFilter(),
      clientMetadataFilter(),
      extprocFilter(options.extproc),
      ROUTER_FILTER,
    ],
    route_config: routes(options),
    local_reply_config: localReplies(options.maxRequestBytes),
  };
}

const limits: EnvoyConfig = {
  max_request_headers_kb: MAX_CLIENT_HEADERS_KIB,
  request_headers_timeout: "10s",
  // A complete upload; the idle timer below ends one that stalls.
  request_timeout: "300s",
  // Silence of a client that sends; from the backend's route on, that route's own timeout counts.
  stream_idle_timeout: "60s",
  common_http_protocol_options: {
    idle_timeout: "600s",
    max_headers_count: 128,
    // Some clients send such headers by accident. Dropping them keeps `x_gateway_backend` from being read as ours.
    headers_with_underscores_action: "DROP_HEADER",
  },
  http2_protocol_options: {
    // Envoy decodes the headers of all of them at once: up to their bound each, from a few bytes that refer to one header sent
    // before. Clients that want more open another connection.
    max_concurrent_streams: 128,
    initial_stream_window_size: CLIENT_STREAM_BYTES,
    initial_connection_window_size: CLIENT_WINDOW_BYTES,
  },
};

// The path reaches the processor exactly as sent, and nothing in Envoy depends on it. The processor compares complete paths,
// answers `//v1` and `/v1/v1` with messages (S20), and reads model ids with an encoded slash from `/v1/models/{id}`; upstream
// paths are of its own making. So nothing is normalized here.
const paths: EnvoyConfig = {
  normalize_path: false,
  merge_slashes: false,
  path_with_escaped_slashes_action: "KEEP_UNCHANGED",
};

/** Header names that are the gateway's own. Clients may send one of them, their tags. */
const RESERVED_PREFIX = "x-gateway-";

/** A pattern of all names with this prefix but one: RE2 has no other way to leave it out. */
function allButOne(name: string, prefix: string): string {
  const rest = name.slice(prefix.length);
  const departures = Array.from(rest, (letter, index) => `${rest.slice(0, index)}(?:[^${letter}].*)?`);
  return `${prefix}(?:${[...departures, `${rest}.+`].join("|")})`;
}

const identity: EnvoyConfig = {
  use_remote_address: true,
  // A filter does that, with the peer's true address.
  skip_xff_append: true,
  // Ids are only ours: they key usage and money, so a client's own value is never used.
  generate_request_id: true,
  preserve_external_request_id: false,
  // The processor sets its own id in every answer, the replies below Envoy's: this would overwrite the former.
  always_set_request_id_in_response: false,
  request_id_extension: REQUEST_ID_AS_IT_IS,
  // `:scheme` follows the connection that is really used; some providers reject a request whose scheme differs.
  scheme_header_transformation: { match_upstream: true },
  // Before anything reads the headers: no client can name a backend, control the router or choose a request id.
  early_header_mutation_extensions: [
    {
      name: "envoy.http.early_header_mutation.header_mutation",
      typed_config: {
        "@type": "type.googleapis.com/envoy.extensions.http.early_header_mutation.header_mutation.v3.HeaderMutation",
        mutations: [
          // Envoy has made all names lower-case.
          { remove_on_match: { key_matcher: { safe_regex: { regex: allButOne(TAGS_HEADER, RESERVED_PREFIX) } } } },
          { remove_on_match: { key_matcher: { prefix: "x-envoy-", ignore_case: true } } },
          { remove: HEADERS.requestId },
          // Envoy would pass it on to model servers; of a client's trace they get only its ids.
          { remove: "tracestate" },
        ],
      },
    },
  ],
};

const routes = ({ hasDashboard, maxRequestBytes }: Pick<ListenerOptions, "hasDashboard" | "maxRequestBytes">): EnvoyConfig => ({
  name: "clients",
  virtual_hosts: [
    {
      name: "clients",
      domains: ["*"],
      typed_per_filter_config: extprocEnabled,
      // Requests and complete answers are buffered for the processor: this is their maximum, and the reason of Envoy's 413 (S21).
      request_body_buffer_limit: maxRequestBytes,
      routes: [
        ...(hasDashboard ? dashboardRoutes() : []),
        earlyAnswerRoute(),
        ...attemptsRoutes({ maxRequestBytes }),
        relayRoute(),
        ...backendRoutes(),
        ...unprocessedRoutes({ name: "unprocessed", maxRequestBytes }),
      ],
    },
  ],
});
