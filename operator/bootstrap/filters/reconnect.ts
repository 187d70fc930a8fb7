import type { EnvoyConfig } from "../envoy-config.ts";

const SCRIPT = `function envoy_on_response(handle)
  handle:streamInfo():drainConnectionUponCompletion()
end
`;

/**
 * The HTTP filter that closes a client's connection after the 503 for an unavailable processor: it has only the one next to it,
 * and the next connection may reach another gateway with its own. A header of the reply would not work: Envoy removes
 * `connection` (docs/decisions/0053).
 */
export function reconnectFilter(): EnvoyConfig {
  return {
    name: "reconnect",
    typed_config: {
      "@type": "type.googleapis.com/envoy.extensions.common.matching.v3.ExtensionWithMatcher",
      extension_config: {
        name: "envoy.filters.http.lua",
        typed_config: {
          "@type": "type.googleapis.com/envoy.extensions.filters.http.lua.v3.Lua",
          default_source_code: { inline_string: SCRIPT },
        },
      },
      xds_matcher: { matcher_list: { matchers: [{ predicate: { not_matcher: processorIsAway }, on_match: skip }] } },
    },
  };
}

/** `response.code_details.startsWith("ext_proc_error")`: matchers accept only the syntax tree. */
const failedInProcessor: EnvoyConfig = {
  id: 1,
  call_expr: {
    target: {
      id: 2,
      select_expr: { operand: { id: 3, ident_expr: { name: "response" } }, field: "code_details" },
    },
    function: "startsWith",
    args: [{ id: 4, const_expr: { string_value: "ext_proc_error" } }],
  },
};

const processorIsAway: EnvoyConfig = {
  and_matcher: {
    predicate: [
      {
        single_predicate: {
          input: {
            name: "status",
            typed_config: {
              "@type": "type.googleapis.com/envoy.type.matcher.v3.HttpResponseHeaderMatchInput",
              header_name: ":status",
            },
          },
          value_match: { exact: "503" },
        },
      },
      {
        single_predicate: {
          input: {
            name: "attributes",
            typed_config: { "@type": "type.googleapis.com/xds.type.matcher.v3.HttpAttributesCelMatchInput" },
          },
          custom_match: {
            name: "cel",
            typed_config: {
              "@type": "type.googleapis.com/xds.type.matcher.v3.CelMatcher",
              expr_match: { cel_expr_parsed: { expr: failedInProcessor } },
            },
          },
        },
      },
    ],
  },
};

const skip: EnvoyConfig = {
  action: {
    name: "skip",
    typed_config: { "@type": "type.googleapis.com/envoy.extensions.filters.common.matcher.action.v3.SkipFilter" },
  },
};
