import { GatewayError } from "../../contract/errors.ts";
import { isObject } from "./json/object.ts";
import { parseBody, type BodyFacts } from "./json/parse-body.ts";
import type { RequestBody } from "./json/request-body.ts";
import { remove, withinObject, write } from "./json/splice.ts";

export interface CostRequest {
  /** Without `usage`, which model servers do not know. */
  body: RequestBody;
  /** The client wants the charge in its answer's usage. */
  wantsCost: boolean;
}

/**
 * Reads `usage: {include: true}`, OpenRouter's way to ask for an answer's cost. A stream of chat completions then reports its
 * usage, too.
 * @throws GatewayError `invalid_request` for an `include` that is no flag.
 */
export function readCostRequest(body: RequestBody, facts: BodyFacts): CostRequest {
  const usage = body.outline["usage"];
  if (!isObject(usage) || usage["include"] === undefined) return { body, wantsCost: false };
  const wantsCost = usage["include"];
  if (typeof wantsCost !== "boolean")
    throw new GatewayError("invalid_request", "`usage.include` must be true or false.", { field: "usage.include" });
  const needsChunk = wantsCost && facts.interface === "chat" && body.outline["stream"] === true;
  const bytes = body.edit({ usage: remove, ...(needsChunk && { stream_options: withinObject({ include_usage: write(true) }) }) });
  return { body: parseBody(bytes, facts), wantsCost };
}
