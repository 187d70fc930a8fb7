import { GatewayError } from "../../contract/errors.ts";
import { isObject } from "../protocol/json/object.ts";
import type { JsonObject } from "./translation.ts";

/** A whole answer that passes, read for its usage. @throws GatewayError `upstream_error` when it is no JSON object. */
export function parseWhole(body: Buffer): JsonObject {
  let json: unknown;
  try {
    json = JSON.parse(body.toString("utf8"));
  } catch (cause) {
    throw new GatewayError("upstream_error", "The model server's answer is not JSON.", { cause });
  }
  if (!isObject(json)) throw new GatewayError("upstream_error", "The model server's answer is not a JSON object.");
  return json;
}
