import { GatewayError } from "../../../contract/errors.ts";
import { eventType } from "../../protocol/event-type.ts";
import { member } from "../../protocol/json/count.ts";
import { isObject, type JsonObject } from "../../protocol/json/object.ts";
import { parseUpstreamJson } from "../../protocol/json/upstream-json.ts";
import { readAnswer, type ResponsesAnswer } from "../../protocol/responses/answer.ts";
import type { AnswerItem } from "../../protocol/responses/answer-item.ts";
import {
  readEvent,
  type AnswerEvent as WireEvent,
  type ItemEvent,
  type PieceEvent,
} from "../../protocol/responses/answer-event.ts";
import { responsesUsage } from "../../protocol/responses/usage.ts";
import type { AnswerReader, ReadAnswerContext } from "../conversation/answer.ts";
import type { AnswerEvent } from "../conversation/answer-event.ts";
import type { ToolNames } from "../conversation/names.ts";
import { bytesOf, messagesOutput } from "../readable-output.ts";
import { createAnswerItems } from "./answer-items.ts";
import { createBlockOrder } from "./block-order.ts";
import { namesOf } from "./item-names.ts";
import { createResponseItems } from "./response-items.ts";
import { isUnknownReason, readStopReason } from "./stop-reason.ts";
import { incomplete } from "../../protocol/broken-answer.ts";

export interface ResponsesAnswerContext extends ReadAnswerContext {
  names: ToolNames;
  /** The Model's own name. */
  thinker: string;
}

const NO_ITEM: JsonObject = {};

/** A response, complete or as its events. */
export function createAnswerReader(context: ResponsesAnswerContext): AnswerReader {
  const { meter } = context;
  const items = createAnswerItems(context);
  const known = createResponseItems(context.requestId);
  const inOrder = context.client === "messages" ? createBlockOrder() : (events: readonly AnswerEvent[]) => events;
  let isStarted = false;

  function step(event: WireEvent): AnswerEvent[] {
    switch (event.type) {
      case "response.created":
        return isStarted ? [] : start(event.response.id ?? "");
      case "response.output_item.added":
        return started(items.begin(begin(event), event.item));
      case "response.output_item.done":
        return started(items.finish(finishItem(event), event.item));
      case "response.output_text.delta":
        return started(items.addText({ kind: "text", ...partOf(event, "message") }, event.delta));
      case "response.output_text.done":
        return started(items.fillText({ kind: "text", ...partOf(event, "message") }, event.text));
      case "response.refusal.delta":
        return started(items.addText({ kind: "refusal", ...partOf(event, "message") }, event.delta));
      case "response.output_text.annotation.added":
        return started(items.cite({ kind: "text", ...partOf(event, "message") }, event.annotation));
      case "response.reasoning_summary_text.delta":
        return started(
          items.think({ source: "summary", item: itemOf(event, "reasoning"), part: event.summary_index }, event.delta),
        );
      case "response.reasoning_text.delta":
        return started(items.think({ source: "content", ...partOf(event, "reasoning") }, event.delta));
      case "response.function_call_arguments.delta":
        return started(items.addArguments(itemOf(event, "function_call"), event.delta));
      case "response.function_call_arguments.done":
        return started(items.fillArguments(itemOf(event, "function_call"), event.arguments));
      case "response.failed":
        // The client pays for what it got, by the server's own count.
        meter.report(responsesUsage(member(event.response, "usage")) ?? {});
        return finish(readAnswer(event.response, context));
      case "response.completed":
      case "response.incomplete":
        return finish(readAnswer(event.response, context));
    }
  }

  function begin({ output_index: index, item }: ItemEvent): number {
    return positionOf(index, isObject(item) ? item : NO_ITEM);
  }

  function finishItem({ output_index: index, item }: ItemEvent): number {
    const written = isObject(item) ? item : NO_ITEM;
    const found = known.find({ index, names: namesOf(written), kind: written["type"] }) ?? known.begin(index, written);
    if (found === null) return known.latest();
    found.isDone = true;
    return found.position;
  }

  /** Of an item that begins, or that began before. */
  function positionOf(index: number | null, item: JsonObject): number {
    const begun = known.begin(index, item) ?? known.find({ index, names: namesOf(item), kind: item["type"] });
    return begun?.position ?? known.latest();
  }

  function itemOf({ output_index: index, item_id: id }: PieceEvent, kind: AnswerItem["type"]): number {
    const found = known.find({ index, names: namesOf({ id }), kind });
    return found?.position ?? positionOf(index, { type: kind, id });
  }

  function partOf(event: PieceEvent & { content_index: number }, kind: AnswerItem["type"]): { item: number; part: number } {
    return { item: itemOf(event, kind), part: event.content_index };
  }

  function start(id: string): AnswerEvent[] {
    isStarted = true;
    return [{ type: "start", id, usage: {} }];
  }

  function started(events: AnswerEvent[]): AnswerEvent[] {
    return isStarted ? events : [...start(""), ...events];
  }

  /** @throws GatewayError `upstream_error` for something that is not an answer. */
  function finish(answer: ResponsesAnswer): AnswerEvent[] {
    const { id, status, reason, output, usage } = answer;
    if (status !== "completed" && status !== "incomplete") throw incomplete();
    const isWhole = !isStarted;
    const opened = isWhole ? start(id) : [];
    // The value for members that no event has set.
    const written = output.map((item) => (isObject(item) ? item : NO_ITEM));
    const begun = known.match(written);
    const rest = output.flatMap((item, at) =>
      // In a complete answer, items of one name are items all the same.
      items.finish(begun[at]?.position ?? positionOf(isWhole ? at : null, written[at] ?? NO_ITEM), item),
    );
    const closed = items.end();
    // Calls without arguments contain no text.
    if (meter.outputBytes() === 0 && !items.hasCalls() && bytesOf(messagesOutput({ output })) > 0)
      throw new GatewayError(
        "upstream_error",
        "The model server's answer has text only in events that the Responses API does not define.",
      );
    meter.report(responsesUsage(usage) ?? {});
    if (reason !== null && isUnknownReason({ status, reason })) meter.noteUnknownReason(reason);
    const ending = {
      reason: readStopReason({ status, reason, hasRefusal: items.hasRefusal() }),
      stopSequence: null,
      explanation: null,
    };
    return [...opened, ...rest, ...closed, { type: "stop", ending, usage: meter.final().usage }];
  }

  return {
    hasKeepAliveComments: true,
    isFinished: () => false,
    read({ event, data }) {
      // The protocol has no such line, but proxies end every stream with it.
      if (data.trim() === "[DONE]") return [];
      const json = parseUpstreamJson(data);
      const type = eventType(json["type"], event);
      // Proxies in front of a server send errors in their own shapes, without a type.
      if (type === "error" || (typeof type !== "string" && isObject(json["error"])))
        readAnswer({ ...json, type: "error" }, context);
      const known = readEvent(json, type);
      return known === null ? [] : inOrder(step(known));
    },
    readWhole: (json) => inOrder(finish(readAnswer(parseUpstreamJson(json), context))),
    end: () => [],
    limit() {
      const closed = items.end();
      const ending = { reason: "limit", stopSequence: null, explanation: null } as const;
      return inOrder(started([...closed, { type: "stop", ending, usage: meter.final().usage }]));
    },
  };
}
