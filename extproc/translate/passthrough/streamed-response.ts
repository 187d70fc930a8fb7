import { GatewayError } from "../../../contract/errors.ts";
import { EVENT_BOUNDS, parseWithin } from "../../protocol/json/bounds.ts";
import { isObject, parseObject, textOf, type JsonObject } from "../../protocol/json/object.ts";
import { positionIn } from "../../protocol/json/position.ts";
import { encodeForeign, encodeJson, RawJson, type Encodable } from "../../protocol/json/raw.ts";
import { rawMembers } from "../../protocol/json/raw-members.ts";
import { rawMember, scanElements } from "../../protocol/json/scan.ts";
import { editMembers } from "../../protocol/json/splice.ts";
import { encodeRawEvent } from "../../protocol/responses/raw-event.ts";
import type { SseEvent } from "../../protocol/sse.ts";
import { readUpstreamErrorPayload, type ErrorReader } from "../../protocol/upstream-error.ts";
import { createResponseItems, type ResponseItem, type ResponseItems } from "../responses/response-items.ts";
import { withOmitted, type StreamedItem } from "./omitted-items.ts";
import { brokenOff } from "../../protocol/broken-answer.ts";

const NOTHING = Buffer.alloc(0);

/**
 * The response that a stream ends with, from servers that stream although JSON was requested.
 * @throws GatewayError `upstream_error` when the stream is cut off or is not a response; the upstream's own error when it holds
 * one.
 */
export function responseOf(events: readonly SseEvent[], reader: ErrorReader, requestId: string): Buffer {
  const items = createResponseItems(requestId);
  const ended: EndedItem[] = [];
  for (const { event, data } of events) {
    if (data.trim() === "[DONE]") break;
    const json = parseEvent(data);
    const type = (isObject(json) ? textOf(json["type"]) : "") || event;
    const isError = type === "error" || (isObject(json) && isObject(json["error"]));
    if (isError) throw readUpstreamErrorPayload(json, reader);
    if (type === "response.output_item.done" && isObject(json)) ended.push(...endedItem(json, data, items));
    if (type === "response.completed" || type === "response.incomplete" || type === "response.failed")
      return withItems(rawMember(Buffer.from(data), "response") ?? NOTHING, items, ended);
  }
  throw brokenOff();
}

interface EndedItem extends StreamedItem {
  item: ResponseItem;
}

/** None for one that has ended before. */
function endedItem({ output_index: index, item }: JsonObject, data: string, items: ResponseItems): EndedItem[] {
  const begun = isObject(item) ? items.begin(positionIn(index), item) : null;
  if (begun === null) return [];
  begun.isDone = true;
  return [{ item: begun, position: begun.position, written: String(rawMember(Buffer.from(data), "item") ?? "null") }];
}

/** Some servers send some items, or all of them, in their own events only. */
function withItems(response: Buffer, items: ResponseItems, ended: readonly EndedItem[]): Buffer {
  if (ended.length === 0) return response;
  const output = rawMember(response, "output") ?? NOTHING;
  const listed = scanElements(output).map((element) => parseObject(element.toString("utf8")) ?? {});
  const known = items.match(listed);
  const isOmitted = new Set(items.others(known));
  const omitted = ended.filter(({ item }) => isOmitted.has(item));
  if (omitted.length === 0) return response;
  const positions = known.map((item) => item?.position);
  return editMembers(response, { output: () => withOmitted(output, positions, omitted) });
}

function parseEvent(data: string): unknown {
  try {
    return parseWithin(data, EVENT_BOUNDS);
  } catch (cause) {
    throw new GatewayError("upstream_error", "The model server sent data that is not JSON.", { cause });
  }
}

type Members = Record<string, Encodable>;

/** A complete response as the stream that would have delivered it: each part in one piece. */
export function eventsOfResponse(response: Buffer): string {
  const head = rawMembers(response, ["output", "usage", "status"]);
  const items = scanElements(rawMember(response, "output") ?? NOTHING);
  const begun = { ...head, status: "in_progress", output: [], usage: null };
  const status = rawMember(response, "status")?.toString("utf8") === '"incomplete"' ? "incomplete" : "completed";
  const steps: [string, Members][] = [
    ["response.created", { response: begun }],
    ["response.in_progress", { response: begun }],
    ...items.flatMap((item, index) => itemSteps(item, index)),
    [`response.${status}`, { response: new RawJson(response.toString("utf8")) }],
  ];
  return steps.map(([type, members], number) => encodeRawEvent(type, number, members)).join("");
}

/** The events that come before the end of an item, for servers that send nothing else of it. */
export function piecesOf(item: JsonObject, position: number): readonly JsonObject[] {
  return itemSteps(Buffer.from(encodeForeign(item)), position)
    .slice(0, -1)
    .map(([type, members]): unknown => JSON.parse(encodeJson({ type, ...members })))
    .filter(isObject);
}

function itemSteps(item: Buffer, index: number): [string, Members][] {
  const position = { output_index: index };
  const members = rawMembers(item);
  const id = members["id"] ?? "";
  const added = { ...members, ...EMPTIED[members["type"]?.text ?? ""] };
  return [
    ["response.output_item.added", { ...position, item: added }],
    ...partSteps(item, { item_id: id, ...position }),
    ["response.output_item.done", { ...position, item: new RawJson(item.toString("utf8")) }],
  ];
}

/** By type, the members that an item begins without. */
const EMPTIED: Readonly<Record<string, Members>> = {
  '"message"': { content: [], status: "in_progress" },
  '"reasoning"': { summary: [] },
  '"function_call"': { arguments: "", status: "in_progress" },
  '"custom_tool_call"': { input: "", status: "in_progress" },
};

function partSteps(item: Buffer, position: Members): [string, Members][] {
  const type = rawMember(item, "type")?.toString("utf8") ?? "";
  const raw = (name: string) => new RawJson(rawMember(item, name)?.toString("utf8") ?? '""');
  switch (type) {
    case '"message"':
      return scanElements(rawMember(item, "content") ?? NOTHING).flatMap((part, index) =>
        contentSteps(part, { ...position, content_index: index }),
      );
    case '"reasoning"':
      return scanElements(rawMember(item, "summary") ?? NOTHING).flatMap((part, index) =>
        summarySteps(part, { ...position, summary_index: index }),
      );
    case '"function_call"':
      return [
        ["response.function_call_arguments.delta", { ...position, delta: raw("arguments") }],
        ["response.function_call_arguments.done", { ...position, name: raw("name"), arguments: raw("arguments") }],
      ];
    case '"custom_tool_call"':
      return [
        ["response.custom_tool_call_input.delta", { ...position, delta: raw("input") }],
        ["response.custom_tool_call_input.done", { ...position, input: raw("input") }],
      ];
    default:
      return [];
  }
}

function contentSteps(part: Buffer, position: Members): [string, Members][] {
  const members = rawMembers(part);
  const isRefusal = members["type"]?.text === '"refusal"';
  const kind = isRefusal ? "refusal" : "output_text";
  const name = isRefusal ? "refusal" : "text";
  const text = members[name] ?? "";
  const beside = isRefusal ? {} : { logprobs: members["logprobs"] ?? [] };
  return [
    [
      "response.content_part.added",
      { ...position, part: { ...members, [name]: "", ...(isRefusal ? {} : { annotations: [], logprobs: [] }) } },
    ],
    [`response.${kind}.delta`, { ...position, delta: text, ...beside }],
    [`response.${kind}.done`, { ...position, [name]: text, ...beside }],
    ["response.content_part.done", { ...position, part: new RawJson(part.toString("utf8")) }],
  ];
}

function summarySteps(part: Buffer, position: Members): [string, Members][] {
  const members = rawMembers(part);
  const text = members["text"] ?? "";
  return [
    ["response.reasoning_summary_part.added", { ...position, part: { ...members, text: "" } }],
    ["response.reasoning_summary_text.delta", { ...position, delta: text }],
    ["response.reasoning_summary_text.done", { ...position, text }],
    ["response.reasoning_summary_part.done", { ...position, part: new RawJson(part.toString("utf8")) }],
  ];
}
