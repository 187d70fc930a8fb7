import { HEADERS } from "../../../contract/headers.ts";
import type { EnvoyConfig } from "../envoy-config.ts";

/** With tracing, Envoy would write into the id whether and why. */
export const REQUEST_ID_AS_IT_IS: EnvoyConfig = {
  typed_config: {
    "@type": "type.googleapis.com/envoy.extensions.request_id.uuid.v3.UuidRequestIdConfig",
    pack_trace_reason: false,
  },
};

/** What the same filter does besides. */
interface FurtherMutations {
  request?: readonly EnvoyConfig[];
  response?: readonly EnvoyConfig[];
}

/**
 * The HTTP filter that gives every response the request's id under its second name, too (S17): the last to touch a response, so
 * that it covers Envoy's own replies to invalid HTTP.
 */
export function requestIdFilter({ request = [], response = [] }: FurtherMutations = {}): EnvoyConfig {
  return {
    name: "envoy.filters.http.header_mutation",
    typed_config: {
      "@type": "type.googleapis.com/envoy.extensions.filters.http.header_mutation.v3.HeaderMutation",
      mutations: {
        ...(request.length === 0 ? {} : { request_mutations: request }),
        response_mutations: [
          {
            append: {
              header: { key: HEADERS.requestIdMessages, value: `%RESP(${HEADERS.requestId})%` },
              append_action: "ADD_IF_ABSENT",
            },
          },
          ...response,
        ],
      },
    },
  };
}
