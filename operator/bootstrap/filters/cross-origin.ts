import { CROSS_ORIGIN_METADATA, CROSS_ORIGIN_NAMES } from "../../../contract/cross-origin.ts";
import type { EnvoyConfig } from "../envoy-config.ts";

/** Envoy's formatters for these headers, by their names. */
export const CROSS_ORIGIN_FORMATTERS: Readonly<Record<string, string>> = Object.fromEntries(
  CROSS_ORIGIN_NAMES.map((name) => [name, `%DYNAMIC_METADATA(${CROSS_ORIGIN_METADATA}:${name})%`]),
);

/**
 * Response headers for the page that the processor has found allowed to read the answer (docs/decisions/0077), of Envoy's own
 * replies, too. An empty value adds nothing.
 */
export const CROSS_ORIGIN_HEADERS: readonly EnvoyConfig[] = Object.entries(CROSS_ORIGIN_FORMATTERS).map(([key, value]) => ({
  append: { header: { key, value }, append_action: "OVERWRITE_IF_EXISTS_OR_ADD" },
}));
