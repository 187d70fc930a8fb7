import { HELD_BODY_CLASSES } from "../buffers.ts";
import type { EnvoyConfig } from "../envoy-config.ts";

export type Route = EnvoyConfig & { name: string; match: EnvoyConfig & { headers?: readonly EnvoyConfig[] } };

interface HeldBodyOptions {
  /** Bytes; one more is a 413 (S21). */
  maxRequestBytes: number;
  /** The request header with the body's length. A body without one may have any length. */
  lengthHeader?: string;
}

/**
 * The same route for each class of body, with the class's limit. Envoy has one limit for what its filters buffer of a request and
 * of its answer, and only ever raises it: a later route with a smaller one changes nothing. So the limit is chosen at the
 * request's headers, by the body's length (docs/decisions/0034).
 */
export function routeByBodyLength(route: Route, options: HeldBodyOptions): Route[] {
  const { maxRequestBytes, lengthHeader = "content-length" } = options;
  const { name, match } = route;
  const classes = HELD_BODY_CLASSES.map(({ bodyBytes, heldBytes }) => ({
    ...route,
    name: `${name}-${bodyBytes / 1024}-KiB`,
    match: {
      ...match,
      headers: [...(match.headers ?? []), { name: lengthHeader, range_match: { start: 0, end: bodyBytes + 1 } }],
    },
    request_body_buffer_limit: heldBytes,
  }));
  return [...classes, { ...route, request_body_buffer_limit: maxRequestBytes }];
}
