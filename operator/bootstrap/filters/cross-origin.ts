import { CROSS_ORIGIN_METADATA, CROSS_ORIGIN_NAMES } from "../../../contract/cross-origin.ts";
import type { EnvoyConfig } from "../envoy-config.ts";

/**
 * Response headers for the page that the processor has found allowed to read the answer (docs/decisions/0077), of Envoy's own
 * replies, too. An empty value adds nothing.
 */
export const CROSS_ORIGIN_HEADERS: readonly EnvoyConfig[] = CROSS_ORIGIN_NAMES.map((name) => ({
  append: {
    header: { key: name, value: `%DYNAMIC_METADATA(${CROSS_ORIGIN_METADATA}:${name})%` },
    append_action: "OVERWRITE_IF_EXISTS_OR_ADD",
  },
}));
