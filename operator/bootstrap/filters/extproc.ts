import { CROSS_ORIGIN_METADATA } from "../../../contract/cross-origin.ts";
import { HEADERS, STAGE } from "../../../contract/headers.ts";
import { HELD_ANSWER_METADATA } from "../../../contract/held-answer.ts";
import { SPAN_METADATA } from "../../../contract/span-attributes.ts";
import type { EnvoyConfig } from "../envoy-config.ts";

export const EXTPROC_FILTER = "envoy.filters.http.ext_proc";

/**
 * Enables the filter for a virtual host. It is off otherwise: Envoy refuses invalid HTTP before it knows a host, and closes the
 * connection; waiting for the processor there would lose the reply.
 */
export const extprocEnabled: EnvoyConfig = {
  [EXTPROC_FILTER]: { "@type": "type.googleapis.com/envoy.config.route.v3.FilterConfig", config: {} },
};

/** Disables it for a route. */
export const extprocDisabled: EnvoyConfig = {
  [EXTPROC_FILTER]: { "@type": "type.googleapis.com/envoy.config.route.v3.FilterConfig", config: {}, disabled: true },
};

export interface ExtprocFilterOptions {
  cluster: string;
  /** How many processes serve the cluster. */
  workers: number;
}

/** The single processor of a request: it authenticates, routes, translates and meters. */
export function extprocFilter({ cluster, workers }: ExtprocFilterOptions): EnvoyConfig {
  return {
    name: EXTPROC_FILTER,
    disabled: true,
    typed_config: {
      "@type": "type.googleapis.com/envoy.extensions.filters.http.ext_proc.v3.ExternalProcessor",
      stat_prefix: "gateway",
      // The gRPC timeout would bound the whole stream, and with it the client's.
      grpc_service: {
        envoy_grpc: { cluster_name: cluster, skip_envoy_headers: true },
        timeout: "0s",
        // Envoy keeps a copy of everything that it sends for it, a tenth of its work for a small request: only if there is
        // another worker.
        ...(workers > 1 ? { retry_policy: ANOTHER_WORKER } : {}),
      },
      processing_mode: {
        request_header_mode: "SEND",
        request_body_mode: "BUFFERED",
        request_trailer_mode: "SKIP",
        response_header_mode: "SEND",
        // Until the processor has seen the headers and replies BUFFERED or FULL_DUPLEX_STREAMED. If it were BUFFERED before,
        // Envoy would accept data without end meanwhile, and answer 502 past its limit, instead of making the server wait.
        response_body_mode: "NONE",
        response_trailer_mode: "SKIP",
      },
      // No list of allowed overrides: one that differs in a single mode would be ignored silently.
      allow_mode_override: true,
      failure_mode_allow: false,
      status_on_error: { code: "ServiceUnavailable" },
      // The default of 200 ms fails large prompts on a busy machine.
      message_timeout: "10s",
      // An impossible mutation fails the request, instead of sending it on half changed. A model server's own `x-envoy-` headers
      // are removed like all others.
      mutation_rules: { disallow_is_error: { value: true }, allow_envoy: { value: true } },
      // Distinguishes Envoy's own replies (413, 503) from the upstream's, which have "via_upstream".
      response_attributes: ["response.code_details"],
      metadata_options: {
        receiving_namespaces: { untyped: [SPAN_METADATA, HELD_ANSWER_METADATA.namespace, CROSS_ORIGIN_METADATA] },
      },
    },
  };
}

/** An ended worker refuses the connection; the stream then goes to another one, which has seen none of it. */
const ANOTHER_WORKER: EnvoyConfig = {
  retry_on: "connect-failure,refused-stream",
  num_retries: 3,
  retry_back_off: { base_interval: "0.001s", max_interval: "0.01s" },
  retry_host_predicate: [
    {
      name: "envoy.retry_host_predicates.previous_hosts",
      typed_config: {
        "@type": "type.googleapis.com/envoy.extensions.retry.host.previous_hosts.v3.PreviousHostsPredicate",
      },
    },
  ],
  host_selection_retry_max_attempts: 8,
};

/** Directs a route's attempts to one worker: the filter of the whole listener cannot know which one has the request. */
export function attemptsOfWorker(worker: string): EnvoyConfig {
  return {
    [EXTPROC_FILTER]: {
      "@type": "type.googleapis.com/envoy.extensions.filters.http.ext_proc.v3.ExtProcPerRoute",
      overrides: { grpc_initial_metadata: [{ key: HEADERS.worker, value: worker }] },
    },
  };
}

/** The processor's part in one attempt at a backend: it sees only headers, names the backend and replaces the body. */
export function attemptFilter(cluster: string): EnvoyConfig {
  return {
    name: EXTPROC_FILTER,
    typed_config: {
      "@type": "type.googleapis.com/envoy.extensions.filters.http.ext_proc.v3.ExternalProcessor",
      stat_prefix: "attempt",
      grpc_service: {
        envoy_grpc: { cluster_name: cluster, skip_envoy_headers: true },
        timeout: "0s",
        initial_metadata: [{ key: STAGE.header, value: STAGE.attempt }],
      },
      processing_mode: {
        request_header_mode: "SEND",
        request_body_mode: "NONE",
        request_trailer_mode: "SKIP",
        response_header_mode: "SEND",
        response_body_mode: "NONE",
        response_trailer_mode: "SKIP",
      },
      failure_mode_allow: false,
      status_on_error: { code: "ServiceUnavailable" },
      message_timeout: "10s",
      mutation_rules: { disallow_is_error: { value: true } },
      response_attributes: ["response.code_details"],
    },
  };
}
