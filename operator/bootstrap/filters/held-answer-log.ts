import { HELD_ANSWER_METADATA } from "../../../contract/held-answer.ts";
import type { EnvoyConfig } from "../envoy-config.ts";
import { EXTPROC_CLUSTER } from "../extproc-cluster.ts";

/**
 * Envoy holds a complete answer until it has all of it, and ext_proc sees none of it until then. So Envoy's access log reports to
 * extproc, over gRPC, how much has come of each answer that extproc has marked (docs/decisions/0031).
 */
export function heldAnswerLog(): EnvoyConfig {
  return {
    name: "envoy.access_loggers.http_grpc",
    filter: { and_filter: { filters: [isPeriodic, isHeld] } },
    typed_config: {
      "@type": "type.googleapis.com/envoy.extensions.access_loggers.grpc.v3.HttpGrpcAccessLogConfig",
      common_config: {
        log_name: "held-answers",
        transport_api_version: "V3",
        grpc_service: { envoy_grpc: { cluster_name: EXTPROC_CLUSTER, skip_envoy_headers: true } },
        // What fills Envoy's memory is reported at once.
        buffer_size_bytes: 0,
      },
    },
  };
}

/** How often answers are measured. A model server may fill memory in between. */
export const MEASURE_ANSWERS = { access_log_flush_interval: "0.25s" };

const isPeriodic: EnvoyConfig = { log_type_filter: { types: ["DownstreamPeriodic"] } };

const isHeld: EnvoyConfig = {
  metadata_filter: {
    matcher: {
      filter: HELD_ANSWER_METADATA.namespace,
      path: [{ key: HELD_ANSWER_METADATA.key }],
      value: { present_match: true },
    },
    match_if_key_not_found: false,
  },
};
