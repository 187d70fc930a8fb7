import { HEADERS, RATE_LIMIT_HEADERS } from "./headers.ts";

/** Envoy metadata namespace in which extproc sets the headers by which a browser shows an answer to a page; keys are their names. */
export const CROSS_ORIGIN_METADATA = "gateway.cross-origin";

/** Headers of an answer that pages may read, besides those that every page may. */
const EXPOSED_HEADERS: readonly string[] = [
  HEADERS.requestId,
  HEADERS.requestIdMessages,
  HEADERS.cost,
  HEADERS.dropped,
  ...Object.values(RATE_LIMIT_HEADERS).flatMap(({ requests, tokens }) => [...Object.values(requests), ...Object.values(tokens)]),
  "retry-after",
  "retry-after-ms",
  "x-should-retry",
  "deprecation",
  "sunset",
];

const EXPOSED = EXPOSED_HEADERS.join(", ");

/** Of every answer that a page of this origin may read. */
export function crossOriginHeaders(origin: string) {
  return { "access-control-allow-origin": origin, "access-control-expose-headers": EXPOSED, vary: "origin" } as const;
}

export const CROSS_ORIGIN_NAMES: readonly string[] = Object.keys(crossOriginHeaders(""));
