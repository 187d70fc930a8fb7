import type { EnvoyConfig } from "../envoy-config.ts";

/** Conditions for replies, in Envoy's terms. */
export function statusIs(status: number): EnvoyConfig {
  return statusFilter("EQ", status);
}

export function statusFrom(status: number): EnvoyConfig {
  return statusFilter("GE", status);
}

/** @param expression CEL. */
export function detailsMatch(expression: string): EnvoyConfig {
  return {
    extension_filter: {
      name: "envoy.access_loggers.extension_filters.cel",
      typed_config: {
        "@type": "type.googleapis.com/envoy.extensions.access_loggers.filters.cel.v3.ExpressionFilter",
        expression,
      },
    },
  };
}

/** A model server's answer that Envoy cannot buffer, and refuses in the server's place. */
export const ANSWER_IS_TOO_LARGE = detailsMatch("response.code_details == 'response_payload_too_large'");

function statusFilter(op: "EQ" | "GE", status: number): EnvoyConfig {
  return {
    status_code_filter: { comparison: { op, value: { default_value: status, runtime_key: `gateway.local_reply.${status}` } } },
  };
}
