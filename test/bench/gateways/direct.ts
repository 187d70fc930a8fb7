import { pathOf } from "../pairs.ts";
import type { Gateway } from "./gateway.ts";

/** No gateway: what the others are measured against. */
export function direct(upstreamUrl: string): Gateway {
  return {
    name: "direct",
    target: ({ client }) => ({ url: upstreamUrl + pathOf(client), headers: {} }),
    parts: {},
    settled: async () => {},
    stop: async () => {},
  };
}
