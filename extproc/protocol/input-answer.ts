import { GatewayError } from "../../contract/errors.ts";
import type { ImageTraits } from "../../contract/units.ts";
import type { MemberEdits } from "./json/splice.ts";
import { isObject, type JsonObject } from "./json/object.ts";
import type { Outline } from "./json/outline.ts";
import { readUpstreamErrorPayload, type ErrorReader } from "./upstream-error.ts";

/** An answer of an input interface, as far as the gateway reads it. */
export interface InputAnswer {
  /** Of the whole answer, without what nobody reads here. */
  readonly outline: Outline;
  /** As the server reports them, unchecked; NaN for what is no number, undefined if it reports nothing. */
  readonly inputTokens: number | undefined;
  /** The same for units, of an interface that has them. */
  readonly units?: number | undefined;
  /** The same for output tokens; absent where there are none. */
  readonly outputTokens?: number | undefined;
  /** Of the images that it has. */
  readonly made?: ImageTraits;
  /** What clients cannot read as it is written. */
  readonly edits?: MemberEdits;
}

/** Why a 2xx answer is none: the server's own error, which some send with a 200, or the sentence. */
export function noAnswer(json: JsonObject | null, sentence: string, reader: ErrorReader): GatewayError {
  if (json !== null && (isObject(json["error"]) || json["object"] === "error")) return readUpstreamErrorPayload(json, reader);
  return new GatewayError("upstream_error", sentence);
}
