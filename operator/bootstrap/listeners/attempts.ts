import { ATTEMPTS_CLUSTER, HEADERS, attemptPath } from "../../../contract/headers.ts";
import { brokenAnswerLog } from "../filters/broken-answer-log.ts";
import type { EnvoyConfig } from "../envoy-config.ts";
import { attemptFilter, attemptsOfWorker } from "../filters/extproc.ts";
import { nameOfWorker, type ExtprocAddress } from "../extproc-cluster.ts";
import { routeByBodyLength, type Route } from "../filters/held-body.ts";
import { internalCluster, internalListener } from "./internal-hop.ts";
import { ROUTER_FILTER } from "../filters/router.ts";
import { BROKEN_STAYS_OPEN } from "./relay.ts";
import { REQUEST_ID_AS_IT_IS } from "../filters/request-id.ts";
import { tracing, type TraceCollector } from "../filters/tracing.ts";
import { unprocessedRoutes } from "../routes/unprocessed.ts";
import { PRIVATE_HEADERS, UNBELIEVED_HEADERS } from "../routes/upstream.ts";

/**
 * Fallback (docs/decisions/0016): a request for a Model with several backends passes through a listener inside this Envoy, once
 * per attempt. There the processor names that attempt's backend; outside, Envoy's retry policy sends the request again as long as
 * the processor requests it.
 */

const LISTENER = "attempts";

/** More than a Model's backends: the processor decides which attempt is the last. */
const MAX_RETRIES = 16;

/**
 * The clients' routes to the listener: its answer is passed on, or discarded for another attempt. A stream's answer is not
 * buffered: it keeps the limit of its request, which Envoy needs as well to send that again.
 */
export function attemptsRoutes({ maxRequestBytes }: { maxRequestBytes: number }): EnvoyConfig[] {
  const streams = attemptsRoute("attempts-streamed", [{ name: HEADERS.streamed, present_match: true }]);
  return [...routeByBodyLength(streams, { maxRequestBytes }), attemptsRoute("attempts", [])];
}

/** @param further headers that the request must have. */
function attemptsRoute(name: string, further: EnvoyConfig[]): Route {
  return {
    name,
    match: { prefix: "/", headers: [{ name: HEADERS.backend, string_match: { exact: ATTEMPTS_CLUSTER } }, ...further] },
    request_headers_to_remove: [HEADERS.backend, HEADERS.streamed, ...PRIVATE_HEADERS],
    route: {
      cluster: ATTEMPTS_CLUSTER,
      timeout: "0s",
      idle_timeout: "3600s",
      retry_policy: {
        retry_on: "retriable-headers",
        retriable_headers: [{ name: HEADERS.tryNext, present_match: true }],
        num_retries: MAX_RETRIES,
        // It goes to another server, so there is no reason to wait.
        retry_back_off: { base_interval: "0.005s", max_interval: "0.05s" },
      },
    },
  };
}

/**
 * The listener as an upstream. Its retry budget bounds the load of many simultaneous failures on the remaining backends; it is
 * generous, because extproc skips failing backends, and the load that moves to the others is then no longer a retry.
 */
export function attemptsCluster(): EnvoyConfig {
  const many = 1_000_000;
  return internalCluster(ATTEMPTS_CLUSTER, {
    listener: LISTENER,
    thresholds: {
      priority: "DEFAULT",
      max_connections: many,
      max_pending_requests: many,
      max_requests: many,
      retry_budget: { budget_percent: { value: 50 }, min_retry_concurrency: 500 },
    },
  });
}

export interface AttemptsListenerOptions {
  extprocCluster: string;
  /** Addresses of extproc's workers, in order. */
  workers: readonly ExtprocAddress[];
  /** Bytes; see BootstrapOptions. */
  maxRequestBytes: number;
  /** Without spans if absent. */
  traces?: TraceCollector;
}

/** The internal listener: reachable only through the cluster above. */
export function attemptsListener(options: AttemptsListenerOptions): EnvoyConfig {
  return internalListener(LISTENER, connectionManager(options));
}

function connectionManager({ extprocCluster, workers, maxRequestBytes, traces }: AttemptsListenerOptions): EnvoyConfig {
  return {
    "@type": "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
    stat_prefix: "attempts",
    ...(traces === undefined ? {} : { tracing: tracing(traces, { hasUpstreamSpans: false }) }),
    codec_type: "HTTP1",
    max_request_headers_kb: 64,
    // The clients' listener measures the time; here an end comes from there.
    stream_idle_timeout: "0s",
    // As in the relay: extproc ends the stream of a client whose server broke off.
    delayed_close_timeout: BROKEN_STAYS_OPEN,
    access_log: [brokenAnswerLog({ isInside: true })],
    normalize_path: false,
    merge_slashes: false,
    path_with_escaped_slashes_action: "KEEP_UNCHANGED",
    skip_xff_append: true,
    early_header_mutation_extensions: [
      {
        name: "envoy.http.early_header_mutation.header_mutation",
        typed_config: {
          "@type": "type.googleapis.com/envoy.extensions.http.early_header_mutation.header_mutation.v3.HeaderMutation",
          mutations: [{ remove_on_match: { key_matcher: { prefix: "x-gateway-", ignore_case: true } } }],
        },
      },
    ],
    generate_request_id: false,
    request_id_extension: REQUEST_ID_AS_IT_IS,
    scheme_header_transformation: { match_upstream: true },
    http_filters: [attemptFilter(extprocCluster), bodyLengthFilter, ROUTER_FILTER],
    route_config: {
      name: "attempts",
      virtual_hosts: [
        {
          name: "attempts",
          domains: ["*"],
          routes: [
            ...routeByBodyLength(backendRoute, { maxRequestBytes, lengthHeader: HEADERS.bodyLength }),
            ...workerRoutes(workers, maxRequestBytes),
            ...unprocessedRoutes({ name: "unprocessed", maxRequestBytes }),
          ],
        },
      ],
    },
  };
}

const backendRoute: Route = {
  name: "backend",
  match: { prefix: "/", headers: [{ name: HEADERS.backend, present_match: true }] },
  request_headers_to_remove: [HEADERS.backend, ...PRIVATE_HEADERS],
  response_headers_to_remove: UNBELIEVED_HEADERS,
  route: {
    cluster_header: HEADERS.backend,
    cluster_not_found_response_code: "SERVICE_UNAVAILABLE",
    auto_host_rewrite: true,
    timeout: "0s",
    // extproc enforces each backend's own timeouts; this is the longest that a Model can set.
    idle_timeout: "3600s",
    // Only requests that it has never seen go to the same server; one that cannot be reached is abandoned for the next.
    retry_policy: { retry_on: "refused-stream,reset-before-request", num_retries: 2 },
  },
};

/** Matches an attempt whose backend is not known yet. */
function workerRoutes(workers: readonly ExtprocAddress[], maxRequestBytes: number): EnvoyConfig[] {
  if (workers.length < 2) return [];
  const byWorker = workers.map((address, worker) =>
    unprocessedRoutes({
      name: `worker-${worker}`,
      match: { path: attemptPath(worker) },
      maxRequestBytes,
      filters: attemptsOfWorker(nameOfWorker(address)),
    }),
  );
  // One class of bodies after the other, as the chart repeats each route for every worker.
  const [first = []] = byWorker;
  return first.flatMap((_route, bodyClass) => byWorker.flatMap((routes) => routes.slice(bodyClass, bodyClass + 1)));
}

/** Envoy removes `content-length` from a request whose body the processor replaces, and some model servers require it. */
const bodyLengthFilter: EnvoyConfig = {
  name: "envoy.filters.http.header_mutation",
  typed_config: {
    "@type": "type.googleapis.com/envoy.extensions.filters.http.header_mutation.v3.HeaderMutation",
    mutations: {
      request_mutations: [
        {
          append: {
            header: { key: "content-length", value: `%REQ(${HEADERS.bodyLength})%` },
            append_action: "OVERWRITE_IF_EXISTS_OR_ADD",
          },
        },
        { remove: HEADERS.bodyLength },
      ],
    },
  },
};
