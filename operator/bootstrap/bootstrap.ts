import { accessLog } from "./filters/access-log.ts";
import { attemptsCluster, attemptsListener } from "./listeners/attempts.ts";
import { earlyAnswersListener } from "./listeners/early-answers.ts";
import type { EnvoyConfig } from "./envoy-config.ts";
import { dashboardCluster } from "./routes/dashboard.ts";
import { EXTPROC_CLUSTER, extprocCluster, MAX_EXTPROC_STREAMS, type ExtprocAddress } from "./extproc-cluster.ts";
import type { ClientTls } from "./tls/client.ts";
import { internalListeners } from "./listeners/internal-hop.ts";
import { internalTransport, type InternalTls } from "./tls/internal.ts";
import { batchesListener, listener } from "./listeners/clients.ts";
import { relayCluster, relayListener } from "./listeners/relay.ts";
import { poolsListener } from "./listeners/pools.ts";
import { tokensCluster } from "./listeners/tokens.ts";
import { endpointAddress, socketAddress, type EndpointAddress, type SocketAddress } from "./socket-address.ts";
import { tracesCluster, type TraceCollector } from "./filters/tracing.ts";
import { adminCluster, statusListener } from "./listeners/status.ts";

export interface BootstrapOptions {
  /** The port for clients. */
  listen: SocketAddress;
  /**
   * The ext_proc servers next to this Envoy, one per worker of extproc: TCP on the loopback; a single one may be a Unix socket.
   */
  extproc: readonly ExtprocAddress[];
  /** The dashboard's port, if there is one. */
  dashboard?: SocketAddress;
  /** The operator's discovery service: a TCP address, which needs `internalTls`, or a Unix socket. */
  xds: EndpointAddress;
  /** Envoy's admin interface; it can stop the process and read its configuration, so it is only on the loopback. */
  admin: SocketAddress;
  /**
   * Where extproc sends streams that it may answer early (early-answers.ts), and Envoy its requests for tokens (tokens.ts); if
   * absent, such streams are not relayed, and there are no tokens.
   */
  earlyAnswers?: EndpointAddress;
  /** Where extproc sends the requests of batches; if absent, there are none. */
  batches?: EndpointAddress;
  /** Largest request body in bytes; one byte more is a 413 (S21). */
  maxRequestBytes: number;
  /** Name of this Envoy in the operator's logs. */
  nodeId: string;
  /** File of the JSON access log; standard output if absent. */
  accessLogPath?: string;
  /** Open client connections; further ones are refused. */
  maxConnections?: number;
  /** Open streams to extproc; further requests are refused. */
  maxExtprocStreams?: number;
  /** Port for probes and metrics from outside the pod; none if absent. */
  status?: SocketAddress;
  /** Target of requests' spans; none if absent. */
  traces?: TraceCollector;
  /** TLS for clients; plain HTTP if absent. */
  clientTls?: ClientTls;
  /** Mutual TLS to the dashboard and to an operator reached by TCP; plain if absent. */
  internalTls?: InternalTls;
  /** Heap in bytes; new requests are refused at 95 %. No such guard if absent. */
  maxHeapBytes?: number;
}

const DEFAULT_MAX_CONNECTIONS = 50_000;

/**
 * The whole bootstrap of Envoy. Listener, route and filters are static; clusters of Models and their credentials (secrets) come
 * from the operator over ADS.
 */
export function buildBootstrap(options: BootstrapOptions): EnvoyConfig {
  const traces = options.traces === undefined ? {} : { traces: options.traces };
  const served = {
    extproc: { cluster: EXTPROC_CLUSTER, workers: options.extproc.length },
    accessLog: accessLog(options.accessLogPath),
    hasDashboard: options.dashboard !== undefined,
  };
  return {
    node: { id: options.nodeId, cluster: "model-gateway" },
    // Probes must not mistake Envoy for dead because there are too many clients.
    admin: { address: socketAddress(options.admin), ignore_global_conn_limit: true },
    bootstrap_extensions: [internalListeners],
    layered_runtime: { layers: [{ name: "static", static_layer: runtimeFlags }] },
    dynamic_resources: {
      ads_config: {
        api_type: "GRPC",
        transport_api_version: "V3",
        set_node_on_first_message_only: true,
        grpc_services: [{ envoy_grpc: { cluster_name: XDS_CLUSTER } }],
      },
      // 0s waits without end: an Envoy that never heard from the operator is not ready, instead of ready without models.
      cds_config: { ads: {}, resource_api_version: "V3", initial_fetch_timeout: "0s" },
    },
    static_resources: {
      listeners: [
        listener({ ...options, ...served }),
        ...(options.batches === undefined ? [] : [batchesListener({ ...options, ...served, address: options.batches })]),
        attemptsListener({
          extprocCluster: EXTPROC_CLUSTER,
          workers: options.extproc,
          maxRequestBytes: options.maxRequestBytes,
          ...traces,
        }),
        relayListener(options),
        poolsListener(),
        ...(options.earlyAnswers === undefined
          ? []
          : [earlyAnswersListener({ address: options.earlyAnswers, maxRequestBytes: options.maxRequestBytes })]),
        ...(options.status === undefined ? [] : [statusListener(options.status)]),
      ],
      clusters: [
        attemptsCluster(),
        relayCluster(),
        ...(options.earlyAnswers === undefined ? [] : [tokensCluster(options.earlyAnswers)]),
        extprocCluster({
          workers: options.extproc,
          maxStreams: options.maxExtprocStreams ?? MAX_EXTPROC_STREAMS * options.extproc.length,
        }),
        xdsCluster(options.xds, options.internalTls),
        ...(options.status === undefined ? [] : [adminCluster(options.admin)]),
        ...(options.traces === undefined ? [] : [tracesCluster(options.traces)]),
        ...(options.dashboard === undefined ? [] : [dashboardCluster(options.dashboard, options.internalTls)]),
      ],
    },
    memory_allocator_manager: memoryGivenBack(options),
    overload_manager: overloadManager(options),
    // Envoy drops a gRPC client that opened no stream for 50 s, and crashes when a stream opened before then ends: one answer of
    // over a minute on a quiet gateway was enough (test/envoy/answers/long).
    grpc_async_client_manager_config: { max_cached_entry_idle_duration: "315360000s" },
  };
}

export const XDS_CLUSTER = "xds";

const runtimeFlags = {
  // Otherwise Envoy ends every ext_proc stream with RST_STREAM, and Node's HTTP/2 server mistakes about a thousand of them for a
  // rapid-reset attack and drops the connection with all its requests.
  "envoy.reloadable_features.ext_proc_graceful_grpc_close": true,
  // Connections take turns, one request each. Otherwise a client that opens streams and resets them at once puts thousands of
  // requests before everybody's, until Envoy considers extproc dead and drops the connection to it.
  "http.max_requests_per_io_cycle": 1,
};

const DEFAULT_MAX_HEAP_BYTES = 1024 * 1024 * 1024;

/**
 * Memory left after a flood is returned to the system: everything beyond a quarter of the heap's bound, and some each second.
 * Otherwise Envoy keeps its peak.
 */
function memoryGivenBack({ maxHeapBytes = DEFAULT_MAX_HEAP_BYTES }: BootstrapOptions): EnvoyConfig {
  return {
    bytes_to_release: 64 * 1024 * 1024,
    memory_release_interval: "1s",
    soft_memory_limit_bytes: quarterOfHeap(maxHeapBytes),
  };
}

/** The chart has the same as an expression. */
export function quarterOfHeap(maxHeapBytes: number): number {
  return Math.floor(maxHeapBytes / 4);
}

function xdsCluster(address: EndpointAddress, tls: InternalTls | undefined): EnvoyConfig {
  const transport =
    "path" in address || tls === undefined
      ? {}
      : { transport_socket: internalTransport(tls, { serverName: address.host, protocol: "h2" }) };
  return {
    name: XDS_CLUSTER,
    type: "path" in address ? "STATIC" : "STRICT_DNS",
    connect_timeout: "2s",
    load_assignment: {
      cluster_name: XDS_CLUSTER,
      endpoints: [{ lb_endpoints: [{ endpoint: { address: endpointAddress(address) } }] }],
    },
    ...transport,
    typed_extension_protocol_options: {
      "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": {
        "@type": "type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions",
        explicit_http_config: {
          // Detects a dead operator that never closed its connection, and reconnects to another replica.
          http2_protocol_options: { connection_keepalive: { interval: "30s", timeout: "5s" } },
        },
      },
    },
  };
}

function overloadManager({ maxConnections = DEFAULT_MAX_CONNECTIONS, maxHeapBytes }: BootstrapOptions): EnvoyConfig {
  const connections = {
    name: "envoy.resource_monitors.global_downstream_max_connections",
    typed_config: {
      "@type": "type.googleapis.com/envoy.extensions.resource_monitors.downstream_connections.v3.DownstreamConnectionsConfig",
      max_active_downstream_connections: maxConnections,
    },
  };
  if (maxHeapBytes === undefined) return { resource_monitors: [connections] };
  const heap = {
    name: "envoy.resource_monitors.fixed_heap",
    typed_config: {
      "@type": "type.googleapis.com/envoy.extensions.resource_monitors.fixed_heap.v3.FixedHeapConfig",
      max_heap_size_bytes: maxHeapBytes,
    },
  };
  return {
    refresh_interval: "0.25s",
    resource_monitors: [connections, heap],
    actions: [
      heapAction("envoy.overload_actions.shrink_heap", 0.9),
      heapAction("envoy.overload_actions.stop_accepting_requests", 0.95),
    ],
  };
}

function heapAction(name: string, threshold: number): EnvoyConfig {
  return { name, triggers: [{ name: "envoy.resource_monitors.fixed_heap", threshold: { value: threshold } }] };
}
