import type { EnvoyConfig } from "./envoy-config.ts";
import { socketAddress, type SocketAddress } from "./socket-address.ts";

/** `path` is a Unix socket. */
export type ExtprocAddress = SocketAddress | { path: string };

export const EXTPROC_CLUSTER = "extproc";

/** Of one worker alone. */
export function workerCluster(worker: number): string {
  return `${EXTPROC_CLUSTER}-${worker}`;
}

const FRAME_BYTES = 64 * 1024;

/**
 * Of each worker: twice what it takes at most, for an attempt at a backend has a stream of its own: extproc refuses in better words.
 * Without a bound, requests would wait for a processor that has stopped.
 */
export const MAX_EXTPROC_STREAMS = 20_000;

export interface ExtprocClusterOptions {
  name: string;
  /** Each a worker's. */
  addresses: readonly ExtprocAddress[];
  maxRequestBytes: number;
  /** Streams at once to each worker; a request beyond is answered by Envoy, with 503. */
  maxStreams: number;
}

/** The processor beside this Envoy, over gRPC. */
export function extprocCluster({ name, addresses, maxRequestBytes, maxStreams }: ExtprocClusterOptions): EnvoyConfig {
  return {
    name,
    type: "STATIC",
    // Streams live long, and by unlike times: turns would leave one worker with more of them.
    lb_policy: "LEAST_REQUEST",
    connect_timeout: "1s",
    // A BUFFERED body crosses in one message each way.
    per_connection_buffer_limit_bytes: maxRequestBytes + FRAME_BYTES,
    circuit_breakers: { thresholds: [threshold("DEFAULT", maxStreams), threshold("HIGH", maxStreams)] },
    load_assignment: {
      cluster_name: name,
      endpoints: [{ lb_endpoints: addresses.map((address) => ({ endpoint: { address: endpointAddress(address) } })) }],
    },
    typed_extension_protocol_options: {
      "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": {
        "@type": "type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions",
        explicit_http_config: {
          http2_protocol_options: {
            initial_stream_window_size: maxRequestBytes + FRAME_BYTES,
            initial_connection_window_size: 2 * (maxRequestBytes + FRAME_BYTES),
            connection_keepalive: { interval: "30s", timeout: "5s" },
          },
        },
      },
    },
  };
}

/** Every request holds an ext_proc stream until its answer ends; Envoy's default of 1,024 would fail the rest. */
function threshold(priority: "DEFAULT" | "HIGH", maxStreams: number): EnvoyConfig {
  return {
    priority,
    max_connections: 1_000_000,
    max_pending_requests: maxStreams,
    max_requests: maxStreams,
    max_retries: 1_000_000,
  };
}

function endpointAddress(address: ExtprocAddress): EnvoyConfig {
  return "path" in address ? { pipe: { path: address.path } } : socketAddress(address);
}
