import { requestIdHeaders } from "../headers.ts";
import type { ImmediateAnswer } from "../reply.ts";
import type { World } from "../world/world.ts";
import type { Caller } from "./authenticate.ts";

/** What web pages of other origins may ask and read (docs/decisions/0077). */

type Headers = ReadonlyMap<string, string>;

/** Whether a browser asks if a page may send a request, and some key may be used by pages of that origin. */
export function isAllowedPreflight(headers: Headers, world: Pick<World, "hasOrigin">): boolean {
  const origin = headers.get("origin");
  return (
    origin !== undefined &&
    headers.get(":method") === "OPTIONS" &&
    headers.has("access-control-request-method") &&
    world.hasOrigin(origin)
  );
}

/** Browsers send names in lower case, separated by commas. Those of SDKs take 500 characters. */
const REQUESTED_HEADERS = /^[\w!#$%&'*+.^`|~-]+(, ?[\w!#$%&'*+.^`|~-]+)*$/;
const MAX_REQUESTED_CHARACTERS = 2_048;

/**
 * The answer to a preflight, which has no key: the key decides about the request itself. It allows any headers, because nobody
 * reads those that the gateway does not know. Whether the page may read it is said as for all answers.
 */
export function answerPreflight(headers: Headers, requestId: string): ImmediateAnswer {
  const requested = headers.get("access-control-request-headers") ?? "";
  const isSensible = requested.length <= MAX_REQUESTED_CHARACTERS && REQUESTED_HEADERS.test(requested);
  return {
    status: 204,
    headers: {
      ...requestIdHeaders(requestId),
      "access-control-allow-methods": "GET, HEAD, POST, DELETE",
      ...(isSensible ? { "access-control-allow-headers": requested } : {}),
      // The most that Chromium keeps it.
      "access-control-max-age": "7200",
    },
    body: Buffer.alloc(0),
    details: "gateway_preflight",
  };
}

/**
 * Whether pages of the origin may read the answers to a request.
 * @param caller undefined if the request was refused before its key was known: any key's pages may learn why.
 */
export function isReadableBy(origin: string, caller: Caller | undefined, world: Pick<World, "hasOrigin">): boolean {
  return caller === undefined ? world.hasOrigin(origin) : (caller.key.allowedOrigins?.includes(origin) ?? false);
}
