import { isObject, type JsonObject } from "../../protocol/json/object.ts";
import { encodeForeign, encodeJson, RawJson, type Encodable } from "../../protocol/json/raw.ts";
import { rawMembers } from "../../protocol/json/raw-members.ts";
import { rawMember, scanElements } from "../../protocol/json/scan.ts";
import { encodeRawEvent } from "../../protocol/responses/raw-event.ts";

const NOTHING = Buffer.alloc(0);

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
