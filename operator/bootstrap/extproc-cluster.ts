import { HEADERS } from "../../contract/headers.ts";
import { EXTPROC_WINDOW_BYTES } from "./buffers.ts";
import type { EnvoyConfig } from "./envoy-config.ts";
import { endpointAddress, type EndpointAddress } from "./socket-address.ts";

/** Only a single worker can have a Unix socket. */
export type ExtprocAddress = EndpointAddress;

export const EXTPROC_CLUSTER = "extproc";

/** The worker's name in Envoy if there are several. */
export function nameOfWorker(address: ExtprocAddress): string {
  if ("path" in address) throw new Error("Several workers of extproc need TCP addresses: Envoy tells them apart by these.");
  return `${address.host}:${address.port}`;
}

/**
 * Per worker, twice its capacity, because an attempt at a backend has a separate stream: extproc refuses with better messages.
 * Without a bound, requests would wait for a processor that has stopped.
 */
export const MAX_EXTPROC_STREAMS = 20_000;

export interface ExtprocClusterOptions {
  /** Where each worker listens. */
  workers: readonly ExtprocAddress[];
  /** Concurrent streams; Envoy answers further requests with 503. */
  maxStreams: number;
}

/** The processor next to this Envoy, over gRPC. */
export function extprocCluster({ workers, maxStreams }: ExtprocClusterOptions): EnvoyConfig {
  return {
    name: EXTPROC_CLUSTER,
    type: "STATIC",
    ...(workers.length > 1 ? { load_balancing_policy: amongWorkers } : {}),
    connect_timeout: "1s",
    health_checks: [healthCheck],
    // By default, Envoy would rather use an unhealthy processor than none; a request would wait for it for ten seconds.
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
 * A stuck or suspended processor still accepts connections. This detects it within five seconds, and it gets no more requests:
 * another worker does, or the client gets its 503 at once. Its running requests continue, because it may only be busy.
 */
const healthCheck: EnvoyConfig = {
  interval: "1s",
  no_traffic_interval: "1s",
  // A recovered one is detected within a moment (READY_AFTER_MS in extproc.ts).
  unhealthy_interval: "0.05s",
  timeout: "2s",
  unhealthy_threshold: 2,
  healthy_threshold: 1,
  grpc_health_check: {},
};

/**
 * A request goes to the worker with the fewest, because streams live long and for different times. An attempt goes to the worker
 * that has its request. One cluster for both: with separate clusters for attempts, Envoy 1.40 crashed when it was stopped during
 * an attempt.
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
