import type { EnvoyConfig } from "../envoy-config.ts";
import { HEADERS } from "../../../contract/headers.ts";

/** Metadata namespace for the client's own values, after the processor rewrote the headers. */
export const CLIENT_METADATA = "gateway.client";
/** The path without its query, and up to a key: some clients put theirs into either. */
export const CLIENT_PATH = "path";
/** Present if the client sent a version header of the Messages interface (S4). */
export const CLIENT_VERSION = "version";

/**
 * The HTTP filter that records the client's own path and version header before the processor overwrites them: Envoy's own replies
 * derive their dialect from it (S17), the access log its path.
 */
export function clientMetadataFilter(): EnvoyConfig {
  return {
    name: "envoy.filters.http.header_to_metadata",
    typed_config: {
      "@type": "type.googleapis.com/envoy.extensions.filters.http.header_to_metadata.v3.Config",
      request_rules: [
        {
          header: ":path",
          on_header_present: {
            metadata_namespace: CLIENT_METADATA,
            key: CLIENT_PATH,
            regex_value_rewrite: { pattern: { regex: "^([^?]*?)(?:sk-mg-.*|[?].*)?$" }, substitution: "\\1" },
          },
        },
        ...[HEADERS.version, HEADERS.versionNeutral].map((header) => ({
          header,
          on_header_present: { metadata_namespace: CLIENT_METADATA, key: CLIENT_VERSION, value: "present" },
        })),
      ],
    },
  };
}
