import type { PartEvent } from "../../protocol/responses/event.ts";
import type { ItemStatus, OutputItem, OutputPart, UrlCitation } from "../../protocol/responses/output-item.ts";
import { freeText } from "../conversation/free-text.ts";
import type { ClientTool } from "./tools.ts";

/** One item of the output between its first event and its last. */
export interface OpenItem {
  /** Sent to the client when the item begins. */
  readonly opening: PartEvent[];
  /** A piece of its text. */
  add(text: string): PartEvent[];
  /** Sent to the client at its end, and the item in its final form. */
  close(status: ItemStatus): PartEvent[];
  /** The item so far. */
  item(status: ItemStatus): OutputItem;
}

export interface ItemPosition {
  item_id: string;
  output_index: number;
}

export interface OpenMessage extends OpenItem {
  cite(annotation: UrlCitation): PartEvent[];
  /** UTF-16 units of text so far. */
  length(): number;
}

export function openMessage(position: ItemPosition): OpenMessage {
  const at = { ...position, content_index: 0 };
  const annotations: UrlCitation[] = [];
  let text = "";
  const part = (): OutputPart => ({ type: "output_text", annotations: [...annotations], logprobs: [], text });
  const item = (status: ItemStatus) => message(position, status, [part()]);

  return {
    opening: [
      { type: "response.output_item.added", output_index: at.output_index, item: message(position, "in_progress", []) },
      { type: "response.content_part.added", ...at, part: part() },
    ],
    add(delta) {
      text += delta;
      return [{ type: "response.output_text.delta", ...at, delta, logprobs: [] }];
    },
    cite(annotation) {
      annotations.push(annotation);
      const annotation_index = annotations.length - 1;
      return [{ type: "response.output_text.annotation.added", ...at, annotation_index, annotation }];
    },
    close: (status) => [
      { type: "response.output_text.done", ...at, text, logprobs: [] },
      { type: "response.content_part.done", ...at, part: part() },
      { type: "response.output_item.done", output_index: at.output_index, item: item(status) },
    ],
    item,
    length: () => text.length,
  };
}

export function openRefusal(position: ItemPosition): OpenItem {
  const at = { ...position, content_index: 0 };
  let refusal = "";
  const item = (status: ItemStatus) => message(position, status, [{ type: "refusal", refusal }]);
  return {
    opening: [
      { type: "response.output_item.added", output_index: at.output_index, item: message(position, "in_progress", []) },
      { type: "response.content_part.added", ...at, part: { type: "refusal", refusal: "" } },
    ],
    add(delta) {
      refusal += delta;
      return [{ type: "response.refusal.delta", ...at, delta }];
    },
    close: (status) => [
      { type: "response.refusal.done", ...at, refusal },
      { type: "response.content_part.done", ...at, part: { type: "refusal", refusal } },
      { type: "response.output_item.done", output_index: at.output_index, item: item(status) },
    ],
    item,
  };
}

/** @param encrypted the content to be returned, known at the end; undefined if there is none. */
export function openReasoning(position: ItemPosition, encrypted: () => string | undefined): OpenItem {
  const at = { ...position, summary_index: 0 };
  let text = "";
  const summary = () => (text === "" ? [] : [{ type: "summary_text" as const, text }]);
  const item = (): OutputItem => ({ ...reasoning(position, summary()), ...withContent(encrypted()) });

  return {
    opening: [{ type: "response.output_item.added", output_index: at.output_index, item: reasoning(position, []) }],
    add(delta) {
      const isFirst = text === "";
      text += delta;
      return [
        ...(isFirst
          ? [{ type: "response.reasoning_summary_part.added", ...at, part: { type: "summary_text", text: "" } } as const]
          : []),
        { type: "response.reasoning_summary_text.delta", ...at, delta },
      ];
    },
    close: () => [
      ...(text === ""
        ? []
        : ([
            { type: "response.reasoning_summary_text.done", ...at, text },
            { type: "response.reasoning_summary_part.done", ...at, part: { type: "summary_text", text } },
          ] as const)),
      { type: "response.output_item.done", output_index: at.output_index, item: item() },
    ],
    item,
  };
}

export interface CallFacts {
  callId: string;
  tool: ClientTool;
}

export function openFunctionCall(position: ItemPosition, { callId, tool }: CallFacts): OpenItem {
  let text = "";
  const item = (status: ItemStatus): OutputItem => ({
    id: position.item_id,
    type: "function_call",
    status,
    arguments: text,
    call_id: callId,
    name: tool.name,
    ...namespaceOf(tool),
  });
  return {
    opening: [{ type: "response.output_item.added", output_index: position.output_index, item: item("in_progress") }],
    add(delta) {
      text += delta;
      return [{ type: "response.function_call_arguments.delta", ...position, delta }];
    },
    close: (status) => [
      { type: "response.function_call_arguments.done", ...position, name: tool.name, arguments: text },
      { type: "response.output_item.done", output_index: position.output_index, item: item(status) },
    ],
    item,
  };
}

/** Its text is inside JSON, and known when that is complete. */
export function openCustomCall(position: ItemPosition, { callId, tool }: CallFacts): OpenItem {
  let json = "";
  const itemWith = (input: string, status: ItemStatus): OutputItem => ({
    id: position.item_id,
    type: "custom_tool_call",
    status,
    call_id: callId,
    input,
    name: tool.name,
    ...namespaceOf(tool),
  });
  return {
    opening: [{ type: "response.output_item.added", output_index: position.output_index, item: itemWith("", "in_progress") }],
    add(delta) {
      json += delta;
      return [];
    },
    close(status) {
      const input = freeText(json);
      return [
        { type: "response.custom_tool_call_input.delta", ...position, delta: input },
        { type: "response.custom_tool_call_input.done", ...position, input },
        { type: "response.output_item.done", output_index: position.output_index, item: itemWith(input, status) },
      ];
    },
    item: (status) => itemWith(freeText(json), status),
  };
}

function message({ item_id: id }: ItemPosition, status: ItemStatus, content: OutputPart[]): OutputItem {
  return { id, type: "message", status, role: "assistant", content };
}

function reasoning({ item_id: id }: ItemPosition, summary: { type: "summary_text"; text: string }[]) {
  return { id, type: "reasoning" as const, summary };
}

function withContent(encrypted: string | undefined) {
  return encrypted === undefined ? {} : { encrypted_content: encrypted };
}

function namespaceOf({ namespace }: ClientTool) {
  return namespace === null ? {} : { namespace };
}
