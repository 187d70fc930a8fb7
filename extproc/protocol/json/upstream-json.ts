import { GatewayError } from "../../../contract/errors.ts";
import { ANSWER_BOUNDS, parseWithin } from "./bounds.ts";
import { isObject, type JsonObject } from "./object.ts";

/** JSON from an upstream, as an object. @throws GatewayError `upstream_error`; what was sent stays in the cause. */
export function parseUpstreamJson(text: string): JsonObject {
  let json: unknown;
  try {
    json = parseWithin(text, ANSWER_BOUNDS);
  } catch (cause) {
    throw new GatewayError("upstream_error", "The model server sent data that is not JSON.", { cause });
  }
  if (!isObject(json)) throw new GatewayError("upstream_error", "The model server sent data that is not a JSON object.");
  return json;
}
