import type { EnvoyConfig } from "../envoy-config.ts";
import { ROUTER_FILTER } from "../filters/router.ts";
import { internalListener } from "./internal-hop.ts";
import { relayConnectionManager } from "./relay.ts";

/**
 * Requests for the pods of an InferencePool pass through this listener, which asks the pool's endpoint picker for a pod
 * (docs/decisions/0084). Its routes come from the operator. In a cluster's filters Envoy 1.40 crashes, if a picker does not read a
 * body that is larger than its buffers.
 */
export const POOLS_LISTENER = "pools";

/** Of its routes, as the operator sends them. */
export const POOL_ROUTES = "pools";

/** Two filters, because a route can only choose the picker, not what happens without one. */
export const PICKER_FILTERS = { failOpen: "picker-fail-open", failClose: "picker-fail-close" } as const;

/** The names of the Endpoint Picker Protocol. */
export const PICKED = {
  /** Of dynamic metadata. */
  namespace: "envoy.lb",
  /** Header and metadata: the pods to send the request to, the first one that is ready. */
  endpoint: "x-gateway-destination-endpoint",
  /** Metadata: the pod that answered. */
  served: "x-gateway-destination-endpoint-served",
} as const;

export function poolsListener(): EnvoyConfig {
  const { route_config: _static, ...manager } = relayConnectionManager("pools", {});
  return internalListener(POOLS_LISTENER, {
    ...manager,
    // An answer that breaks off is to be noticed at once: the relay before this listener waits already.
    delayed_close_timeout: "0s",
    rds: {
      route_config_name: POOL_ROUTES,
      // An operator of an earlier version sends none, and the other listeners are not to wait for that.
      config_source: { ads: {}, resource_api_version: "V3", initial_fetch_timeout: "5s" },
    },
    http_filters: [
      pickerFilter(PICKER_FILTERS.failClose, { failsOpen: false }),
      pickerFilter(PICKER_FILTERS.failOpen, { failsOpen: true }),
      ROUTER_FILTER,
    ],
    local_reply_config: localReplies,
  });
}

function pickerFilter(name: string, { failsOpen }: { failsOpen: boolean }): EnvoyConfig {
  return {
    name,
    // The routes enable it.
    disabled: true,
    typed_config: {
      "@type": "type.googleapis.com/envoy.extensions.filters.http.ext_proc.v3.ExternalProcessor",
      stat_prefix: "picker",
      // Each route names its own.
      grpc_service: { envoy_grpc: { cluster_name: "none" } },
      processing_mode: {
        request_header_mode: "SEND",
        request_body_mode: "FULL_DUPLEX_STREAMED",
        request_trailer_mode: "SEND",
        // With the pod that answered. The answer itself passes no picker: it would wait for it, and end with it.
        response_header_mode: "SEND",
        response_body_mode: "NONE",
        response_trailer_mode: "SKIP",
      },
      failure_mode_allow: failsOpen,
      status_on_error: { code: "ServiceUnavailable" },
      message_timeout: "10s",
      // A picker chooses among the pods of its pool, not among routes.
      route_cache_action: "RETAIN",
      metadata_options: {
        forwarding_namespaces: { untyped: [PICKED.namespace] },
        receiving_namespaces: { untyped: [PICKED.namespace] },
      },
    },
  };
}

/** Pickers and Envoy name pods, addresses and reasons, which are nobody's business outside. extproc goes by the status. */
const localReplies: EnvoyConfig = {
  mappers: [
    {
      filter: {
        status_code_filter: { comparison: { op: "GE", value: { default_value: 400, runtime_key: "gateway.pools" } } },
      },
      body_format_override: {
        json_format: { error: { message: "The model server cannot be reached right now.", type: "server_error" } },
        content_type: "application/json",
      },
    },
  ],
};
