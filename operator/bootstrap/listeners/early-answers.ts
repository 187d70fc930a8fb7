import { HELD_BODY } from "../../../contract/held-body.ts";
import { HEADERS, RELAY_CLUSTER } from "../../../contract/headers.ts";
import { attemptsRoutes } from "./attempts.ts";
import { streamedBackendRoutes } from "../routes/backend.ts";
import { brokenAnswerLog } from "../filters/broken-answer-log.ts";
import { CONNECTION_BUFFER_BYTES } from "../buffers.ts";
import type { EnvoyConfig } from "../envoy-config.ts";
import { ROUTER_FILTER } from "../filters/router.ts";
import { tokenFilter } from "../filters/tokens.ts";
import { relayConnectionManager } from "./relay.ts";
import { socketAddress, type EndpointAddress } from "../socket-address.ts";
import { METADATA_CLUSTER, tokenRoute } from "./tokens.ts";
import { PRIVATE_HEADERS } from "../routes/upstream.ts";

/**
 * A stream whose Model sets `streaming.answerAfter` passes through extproc twice (docs/decisions/0048): Envoy sends the request
 * to extproc as if to a model server, and extproc sends it to this listener, which leads to the model server. So extproc can
 * begin the answer before the model server does.
 */

/**
 * The clients' route to extproc, through the relay: Envoy 1.40 crashes if a client does not read a stream that passes ext_proc
 * and comes over HTTP/2, as everything from extproc does. Inside it is HTTP/1.1.
 */
export function earlyAnswerRoute(): EnvoyConfig {
  return {
    name: "early-answer",
    match: { prefix: "/", headers: [{ name: HEADERS.earlyAnswer, present_match: true }] },
    request_headers_to_remove: PRIVATE_HEADERS,
    // The limit stays that of the body: the complete answer is not buffered here.
    request_body_buffer_limit: HELD_BODY.minBytes,
    // The routes to model servers measure their silence.
    route: { cluster: RELAY_CLUSTER, timeout: "0s", idle_timeout: "3600s" },
  };
}

export interface EarlyAnswersListenerOptions {
  /** Anyone who reaches it uses the providers' credentials: a Unix socket that only this user can access, or a pod's loopback. */
  address: EndpointAddress;
  maxRequestBytes: number;
}

/** The port only for extproc, which has a connection for each request and closes it with the request, and for Envoy (tokens.ts). */
export function earlyAnswersListener({ address, maxRequestBytes }: EarlyAnswersListenerOptions): EnvoyConfig {
  return {
    name: "early-answers",
    address: "path" in address ? { pipe: { path: address.path, mode: 0o600 } } : socketAddress(address),
    // Its connections belong to clients that were already counted.
    ignore_global_conn_limit: true,
    per_connection_buffer_limit_bytes: CONNECTION_BUFFER_BYTES,
    filter_chains: [
      {
        filters: [
          {
            name: "envoy.filters.network.http_connection_manager",
            typed_config: {
              ...relayConnectionManager("early_answers", {
                request_body_buffer_limit: maxRequestBytes,
                routes: [...attemptsRoutes({ maxRequestBytes }), ...streamedBackendRoutes({}), tokenRoute()],
              }),
              http_filters: [tokenFilter({ metadataCluster: METADATA_CLUSTER }), ROUTER_FILTER],
              // extproc may still be writing when a server has answered: its write must not fail before it has read the answer.
              delayed_close_timeout: "1s",
              // So that it is notified of a server that breaks off before the connection ends.
              access_log: [brokenAnswerLog({ isInside: true })],
            },
          },
        ],
      },
    ],
  };
}
