import { GatewayError } from "../../../contract/errors.ts";
import type { EnvoyConfig } from "../envoy-config.ts";
import { plainHttpReplies } from "../filters/local-replies.ts";
import { requestIdFilter } from "../filters/request-id.ts";

/** Distinguishes a TLS connection from a plain one on a TLS port. */
export const TLS_INSPECTOR: EnvoyConfig = {
  name: "envoy.filters.listener.tls_inspector",
  typed_config: { "@type": "type.googleapis.com/envoy.extensions.filters.listener.tls_inspector.v3.TlsInspector" },
};

export const WITH_TLS: EnvoyConfig = { transport_protocol: "tls" };

/** Name of the chain; the chart has it under the same condition as TLS. */
export const PLAIN_HTTP = "plain http";

const REFUSAL = new GatewayError(
  "invalid_request",
  "This address requires HTTPS, but the request used plain HTTP. Use `https://` in the base URL. If the request had a key, it was sent unencrypted: delete it and create a new one.",
);

/**
 * Someone who uses `http://` on a TLS port gets the remedy, in the interface's format, instead of a broken connection. Never a
 * redirect: clients would follow it with a GET, or send the key in plain text again each time.
 */
export function plainHttpChain({ accessLog, identity }: { accessLog: EnvoyConfig; identity: EnvoyConfig }): EnvoyConfig {
  return {
    name: PLAIN_HTTP,
    filter_chain_match: { transport_protocol: "raw_buffer" },
    filters: [
      {
        name: "envoy.filters.network.http_connection_manager",
        typed_config: {
          "@type": "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
          stat_prefix: "plain_http",
          codec_type: "AUTO",
          server_name: "model-gateway",
          access_log: [accessLog],
          request_headers_timeout: "10s",
          request_timeout: "10s",
          common_http_protocol_options: { idle_timeout: "10s" },
          ...identity,
          http_filters: [
            requestIdFilter(),
            {
              name: "envoy.filters.http.router",
              typed_config: { "@type": "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router" },
            },
          ],
          route_config: {
            name: "plain_http",
            virtual_hosts: [
              {
                name: "plain_http",
                domains: ["*"],
                routes: [{ name: "refused", match: { prefix: "/" }, direct_response: { status: REFUSAL.status } }],
              },
            ],
          },
          local_reply_config: plainHttpReplies(REFUSAL),
        },
      },
    ],
  };
}
