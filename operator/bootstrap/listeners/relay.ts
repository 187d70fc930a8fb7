import { HELD_BODY } from "../../../contract/held-body.ts";
import { HEADERS, RELAY_CLUSTER } from "../../../contract/headers.ts";
import { streamedBackendRoutes } from "../routes/backend.ts";
import { brokenAnswerLog } from "../filters/broken-answer-log.ts";
import type { EnvoyConfig } from "../envoy-config.ts";
import { EXTPROC_CLUSTER } from "../extproc-cluster.ts";
import { internalCluster, internalListener } from "./internal-hop.ts";
import { ROUTER_FILTER } from "../filters/router.ts";
import { REQUEST_ID_AS_IT_IS } from "../filters/request-id.ts";
import { PRIVATE_HEADERS } from "../routes/upstream.ts";

/**
 * An internal listener between a stream's client and its model server. When a server breaks off, Envoy resets the client's stream
 * at once and extproc cannot react. Here it resets the relay's stream, and closes that connection only BROKEN_STAYS_OPEN later:
 * long enough for extproc to end the client's stream with its protocol's error event.
 */

const LISTENER = RELAY_CLUSTER;

/** Only over HTTP/1.1 does a connection outlive the reset of its stream. */
export const BROKEN_STAYS_OPEN = "5s";

/** The clients' route to the relay. */
export function relayRoute(): EnvoyConfig {
  return {
    name: "relay",
    match: {
      prefix: "/",
      headers: [
        { name: HEADERS.streamed, present_match: true },
        { name: HEADERS.backend, present_match: true },
      ],
    },
    request_headers_to_remove: [HEADERS.streamed, ...PRIVATE_HEADERS],
    // The limit stays that of the body: the complete answer is not buffered here.
    request_body_buffer_limit: HELD_BODY.minBytes,
    // The relay's own route measures the silence of the model server.
    route: { cluster: RELAY_CLUSTER, timeout: "0s", idle_timeout: "3600s" },
  };
}

/** The relay as an upstream. */
export function relayCluster(): EnvoyConfig {
  const many = 1_000_000;
  return internalCluster(RELAY_CLUSTER, {
    listener: LISTENER,
    thresholds: { priority: "DEFAULT", max_connections: many, max_pending_requests: many, max_requests: many, max_retries: many },
  });
}

export function relayListener({ maxRequestBytes }: { maxRequestBytes: number }): EnvoyConfig {
  return internalListener(LISTENER, {
    ...relayConnectionManager("relay", {
      request_body_buffer_limit: maxRequestBytes,
      routes: [EARLY_ANSWER_ROUTE, ...streamedBackendRoutes({ request_body_buffer_limit: maxRequestBytes })],
    }),
    delayed_close_timeout: BROKEN_STAYS_OPEN,
    access_log: [brokenAnswerLog({ isInside: true })],
  });
}

/** To extproc, which sends the request on through its own listener (early-answers.ts). */
const EARLY_ANSWER_ROUTE: EnvoyConfig = {
  name: "early-answer",
  match: { prefix: "/", headers: [{ name: HEADERS.earlyAnswer, present_match: true }] },
  route: { cluster: EXTPROC_CLUSTER, timeout: "0s", idle_timeout: "3600s" },
};

/** Sends requests prepared by extproc to model servers. Envoy's own replies are marked for extproc. */
export function relayConnectionManager(name: string, virtualHost: EnvoyConfig): EnvoyConfig {
  return {
    "@type": "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
    stat_prefix: name,
    codec_type: "HTTP1",
    max_request_headers_kb: 64,
    // The routes have their own timeouts.
    stream_idle_timeout: "0s",
    normalize_path: false,
    merge_slashes: false,
    path_with_escaped_slashes_action: "KEEP_UNCHANGED",
    skip_xff_append: true,
    generate_request_id: false,
    request_id_extension: REQUEST_ID_AS_IT_IS,
    scheme_header_transformation: { match_upstream: true },
    http_filters: [ROUTER_FILTER],
    route_config: {
      name,
      virtual_hosts: [
        {
          name,
          domains: ["*"],
          ...virtualHost,
        },
      ],
    },
    local_reply_config: {
      mappers: [
        {
          filter: {
            status_code_filter: { comparison: { op: "GE", value: { default_value: 100, runtime_key: "gateway.relay" } } },
          },
          headers_to_add: [
            {
              header: { key: HEADERS.localReply, value: "%RESPONSE_CODE_DETAILS%" },
              append_action: "OVERWRITE_IF_EXISTS_OR_ADD",
            },
          ],
        },
      ],
    },
  };
}
