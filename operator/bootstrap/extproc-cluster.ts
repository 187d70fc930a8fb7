import { HEADERS } from "../../contract/headers.ts";
import { EXTPROC_WINDOW_BYTES } from "./buffers.ts";
import type { EnvoyConfig } from "./envoy-config.ts";
import { endpointAddress, type EndpointAddress } from "./socket-address.ts";

/** Only a worker without others can have a Unix socket. */
export type ExtprocAddress = EndpointAddress;

export const EXTPROC_CLUSTER = "extproc";

/** The worker's name to Envoy among several. */
export function nameOfWorker(address: ExtprocAddress): string {
  if ("path" in address) throw new Error("Several workers of extproc need TCP addresses: Envoy tells them apart by these.");
  return `${address.host}:${address.port}`;
}

/**
 * Of each worker: twice what it takes at most, for an attempt at a backend has a stream of its own: extproc refuses in better words.
 * Without a bound, requests would wait for a processor that has stopped.
 */
export const MAX_EXTPROC_STREAMS = 20_000;

export interface ExtprocClusterOptions {
  /** Where each worker listens. */
  workers: readonly ExtprocAddress[];
  /** Streams at once; a request beyond is answered by Envoy, with 503. */
  maxStreams: number;
}

/** The processor beside this Envoy, over gRPC. */
export function extprocCluster({ workers, maxStreams }: ExtprocClusterOptions): EnvoyConfig {
  return {
    name: EXTPROC_CLUSTER,
    type: "STATIC",
    ...(workers.length > 1 ? { load_balancing_policy: amongWorkers } : {}),
    connect_timeout: "1s",
    health_checks: [healthCheck],
    // Envoy would rather ask a processor that does not answer than none; a request would wait for it for ten seconds.
    common_lb_config: { healthy_panic_threshold: { value: 0 } },
    per_connection_buffer_limit_bytes: EXTPROC_WINDOW_BYTES,
    circuit_breakers: { thresholds: [threshold("DEFAULT", maxStreams), threshold("HIGH", maxStreams)] },
    load_assignment: {
      cluster_name: EXTPROC_CLUSTER,
      endpoints: [{ lb_endpoints: workers.map((address) => ({ endpoint: { address: endpointAddress(address) } })) }],
    },
    typed_extension_protocol_options: {
      "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": {
        "@type": "type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions",
        explicit_http_config: {
          http2_protocol_options: {
            initial_stream_window_size: EXTPROC_WINDOW_BYTES,
            initial_connection_window_size: 16 * EXTPROC_WINDOW_BYTES,
            connection_keepalive: { interval: "30s", timeout: "5s" },
          },
        },
      },
    },
  };
}

/**
 * A processor that is stuck or stopped still takes connections. Found by this within five seconds, it gets no more requests:
 * another worker does, or the client its 503 at once. What runs there goes on, for it may only be busy.
 */
const healthCheck: EnvoyConfig = {
  interval: "1s",
  no_traffic_interval: "1s",
  // One that is back is known to be within a moment (READY_AFTER_MS in extproc.ts).
  unhealthy_interval: "0.05s",
  timeout: "2s",
  unhealthy_threshold: 2,
  healthy_threshold: 1,
  grpc_health_check: {},
};

/**
 * A request goes to the worker that has fewest, for streams live long and by unlike times. An attempt goes to the worker
 * that has its request. One cluster for both: where attempts had clusters of their own, Envoy 1.40 crashed when it was
 * ended while an attempt ran.
 */
const amongWorkers: EnvoyConfig = {
  policies: [
    {
      typed_extension_config: {
        name: "envoy.load_balancing_policies.override_host",
        typed_config: {
          "@type": "type.googleapis.com/envoy.extensions.load_balancing_policies.override_host.v3.OverrideHost",
          override_host_sources: [{ header: HEADERS.worker }],
          fallback_policy: {
            policies: [
              {
                typed_extension_config: {
                  name: "envoy.load_balancing_policies.least_request",
                  typed_config: {
                    "@type": "type.googleapis.com/envoy.extensions.load_balancing_policies.least_request.v3.LeastRequest",
                  },
                },
              },
            ],
          },
        },
      },
    },
  ],
};

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
