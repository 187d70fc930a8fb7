import { GatewayError } from "../../contract/errors.ts";
import { isObject, type JsonObject } from "../protocol/json/object.ts";
import { reject } from "./policy.ts";

/** A request that only fills the prompt cache: without the field, its client would pay for an answer. */
export const PREWARMING_POLICY = reject(
  "prompt_cache_options.prewarm",
  "true asks for no answer, which is possible only at servers of the client's own protocol",
  { prompt_cache_options: { prewarm: true } },
);

/** @throws GatewayError `invalid_request`. */
export function refusePrewarming({ prompt_cache_options: options }: JsonObject): void {
  if (!isObject(options) || options["prewarm"] !== true) return;
  const { field } = PREWARMING_POLICY;
  throw new GatewayError(
    "invalid_request",
    `\`${field}\` is not possible with this model: its server can't fill the cache without an answer. Send the prompt when you need one.`,
    { field },
  );
}
