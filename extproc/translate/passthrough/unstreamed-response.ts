import { GatewayError } from "../../../contract/errors.ts";
import { eventType } from "../../protocol/event-type.ts";
import { EVENT_BOUNDS, parseWithin } from "../../protocol/json/bounds.ts";
import { isObject } from "../../protocol/json/object.ts";
import { rawMember } from "../../protocol/json/scan.ts";
import { editMembers } from "../../protocol/json/splice.ts";
import type { SseEvent } from "../../protocol/sse.ts";
import { readUpstreamErrorPayload, type ErrorReader } from "../../protocol/upstream-error.ts";
import { brokenOff } from "../../protocol/broken-answer.ts";
import { createCompletedResponse } from "./completed-response.ts";
import type { ResponseFacts } from "./response-head.ts";

const NOTHING = Buffer.alloc(0);

/**
 * The response that a stream ends with, from servers that stream although JSON was requested: as a client of the stream has it.
 * @throws GatewayError `upstream_error` when the stream is cut off or is not a response; the upstream's own error when it holds
 * one.
 */
export function responseOf(events: readonly SseEvent[], reader: ErrorReader, facts: ResponseFacts): Buffer {
  const completed = createCompletedResponse(facts, { edits: null, counted: null });
  for (const { event, data } of events) {
    if (data.trim() === "[DONE]") break;
    const json = parseEvent(data);
    const type = eventType(isObject(json) ? json["type"] : null, event);
    const isError = type === "error" || (isObject(json) && isObject(json["error"]));
    if (isError) throw readUpstreamErrorPayload(json, reader);
    const change = isObject(json) ? completed.read({ ...json, type }, data) : null;
    if (change instanceof GatewayError) throw change;
    if (type === "response.completed" || type === "response.incomplete" || type === "response.failed") {
      const response = rawMember(Buffer.from(data), "response") ?? NOTHING;
      const edits = change === null || change === "hide" ? undefined : change.inside.response;
      return edits === undefined ? response : editMembers(response, edits);
    }
  }
  throw brokenOff();
}

function parseEvent(data: string): unknown {
  try {
    return parseWithin(data, EVENT_BOUNDS);
  } catch (cause) {
    throw new GatewayError("upstream_error", "The model server sent data that is not JSON.", { cause });
  }
}
