import { GatewayError } from "../../../contract/errors.ts";
import { checkWholeAnswer } from "../../protocol/answer-bounds.ts";
import { ANSWER_BOUNDS, parseWithin } from "../../protocol/json/bounds.ts";
import { isObject, type JsonObject } from "../../protocol/json/object.ts";
import { readUpstreamErrorPayload, type ErrorReader } from "../../protocol/upstream-error.ts";

/**
 * A complete answer that passes, read for its usage.
 * @throws GatewayError `upstream_error` when it is not a JSON object; the upstream's own error when it is one.
 */
export function parseWhole(body: Buffer, reader: ErrorReader): JsonObject {
  let json: unknown;
  try {
    json = parseWithin(body, ANSWER_BOUNDS);
  } catch (cause) {
    throw new GatewayError("upstream_error", "The model server's answer is not JSON.", { cause });
  }
  if (!isObject(json)) throw new GatewayError("upstream_error", "The model server's answer is not a JSON object.");
  // Some servers send their error with a 200.
  if (isObject(json["error"]) || json["object"] === "error") throw readUpstreamErrorPayload(json, reader);
  checkWholeAnswer(json);
  return json;
}
