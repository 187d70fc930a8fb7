import { isGiven, isObject, parseObject, type JsonObject } from "../../protocol/json/object.ts";
import { encodeResponse } from "../../protocol/responses/response.ts";
import { ownResponseId } from "../conversation/ids.ts";

/** In place of what a server leaves out. */
export interface ResponseFacts {
  requestId: string;
  /** The name that the client requested. */
  model: string;
  nowSeconds: number;
}

/**
 * The response itself. SDKs make it of the first event and know it by its id: they throw if the first event is another one, as of
 * LiteLLM for servers that do not stream, and if a later event names another id.
 */
export interface ResponseHead {
  /** The members that a response lacks, or must have in another form. */
  missing(response: JsonObject): JsonObject;
  /** Does another response begin, as behind a proxy that tries again? */
  isOther(event: JsonObject): boolean;
  /** The first event, if `event` is in its place. */
  begin(event: JsonObject): JsonObject | null;
}

/** Longer ids are not those of responses. */
const MAX_ID_LENGTH = 256;

export function createResponseHead(facts: ResponseFacts): ResponseHead {
  let hasBegun = false;
  let id: string | undefined;

  function missing(response: JsonObject): JsonObject {
    id ??= isId(response["id"]) ? response["id"] : ownResponseId(facts.requestId);
    const { object, created_at: created, model } = response;
    // Vercel's SDK rejects a response without these.
    return {
      ...(response["id"] !== id && { id }),
      ...(!isGiven(object) && { object: "response" }),
      ...(typeof created !== "number" && { created_at: facts.nowSeconds }),
      ...(!isGiven(model) && { model: facts.model }),
    };
  }

  function begin({ type, response }: JsonObject): JsonObject | null {
    if (hasBegun) return null;
    hasBegun = true;
    if (type === "response.created") return null;
    const begun = isObject(response) ? response : ownResponse(facts);
    return { type: "response.created", response: { ...begun, ...missing(begun), ...BEGUN } };
  }

  return {
    missing,
    isOther: ({ type, response }) =>
      type === "response.created" && id !== undefined && isObject(response) && isId(response["id"]) && response["id"] !== id,
    begin,
  };
}

const BEGUN: JsonObject = { status: "in_progress", output: [], usage: null, error: null, incomplete_details: null };

function ownResponse({ requestId, model, nowSeconds: created }: ResponseFacts): JsonObject {
  const head = { id: ownResponseId(requestId), created, model, echoed: {} };
  return parseObject(encodeResponse(head, { status: "in_progress" }, [])) ?? {};
}

function isId(id: unknown): id is string {
  return typeof id === "string" && id !== "" && id.length <= MAX_ID_LENGTH;
}
