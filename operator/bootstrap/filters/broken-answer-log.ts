import { ERRORS } from "../../../contract/errors.ts";
import type { EnvoyConfig } from "../envoy-config.ts";
import { EXTPROC_CLUSTER } from "../extproc-cluster.ts";
import { ANSWER_IS_TOO_LARGE, statusIs } from "./reply-filters.ts";

/**
 * Reports to extproc, over gRPC, each answer that the model server did not finish. ext_proc itself cannot distinguish a server
 * that breaks off from a client that leaves. Successful requests are not reported.
 * @param isInside on a listener inside this Envoy: answers ended from the client's side are reported, too. If extproc ended one
 * because it was silent, the report says how much the server had sent.
 */
export function brokenAnswerLog({ isInside = false } = {}): EnvoyConfig {
  return {
    name: "envoy.access_loggers.http_grpc",
    filter: isInside ? byFlags([...BROKEN_BY_UPSTREAM, ENDED_BY_CLIENT]) : BROKEN_OR_TOO_LARGE,
    typed_config: {
      "@type": "type.googleapis.com/envoy.extensions.access_loggers.grpc.v3.HttpGrpcAccessLogConfig",
      common_config: {
        log_name: "broken-answers",
        transport_api_version: "V3",
        grpc_service: { envoy_grpc: { cluster_name: EXTPROC_CLUSTER, skip_envoy_headers: true } },
        // Each record is sent at once: the client of a broken stream waits for extproc's error event.
        buffer_size_bytes: 0,
      },
    },
  };
}

/** Connection closed, reset by the server, protocol error, reset by Envoy, silent for too long. */
const BROKEN_BY_UPSTREAM = ["UC", "UR", "UPE", "LR", "SI"];
/** The connection that the request came on was closed. */
const ENDED_BY_CLIENT = "DC";

function byFlags(flags: readonly string[]): EnvoyConfig {
  return { response_flag_filter: { flags } };
}

/**
 * No flag reports that an answer was too large to be buffered. Only the few answers with its status are checked for their
 * details.
 */
const BROKEN_OR_TOO_LARGE: EnvoyConfig = {
  or_filter: {
    filters: [
      byFlags(BROKEN_BY_UPSTREAM),
      { and_filter: { filters: [statusIs(ERRORS.upstream_error.status), ANSWER_IS_TOO_LARGE] } },
    ],
  },
};
