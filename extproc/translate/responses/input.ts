import { GatewayError } from "../../../contract/errors.ts";
import type { Protocol } from "../../../contract/protocol.ts";
import type { Part } from "../../protocol/chat/request-content.ts";
import type { Message, ToolCall } from "../../protocol/chat/request-message.ts";
import type { InputItem, InputItemOf, InputPart } from "../../protocol/responses/request-item.ts";
import { flatToolName } from "./tools.ts";
import { translateReasoning, type ReasoningDetail } from "./reasoning-history.ts";

/** The items as chat's messages, which the turns of a messages request are made from. */
export interface InputMessages {
  messages: Message[];
  /** For each message, the place of the item that it begins with. */
  places: number[];
}

export interface InputOptions {
  upstream: Protocol;
  /** The Model's own name. */
  model: string;
  /** Takes the names of what is left out. */
  dropped: Set<string>;
}

/** The side of the conversation that the model wrote. */
type ModelItem = Extract<InputItem, { type: "reasoning" | "function_call" | "custom_tool_call" | "message" }>;

/**
 * Each item becomes a message, but for those of the model: a run of them is one turn.
 * @throws GatewayError `invalid_request` for content that is stored elsewhere.
 */
export function translateInput(items: readonly InputItem[], options: InputOptions): InputMessages {
  const messages: Message[] = [];
  const places: number[] = [];
  let run: ModelItem[] = [];

  for (const [index, item] of items.entries()) {
    if (isModelItem(item)) {
      if (run.length === 0) places.push(index);
      run.push(item);
      continue;
    }
    endRun(index);
    places.push(index);
    messages.push(translateItem(item, index));
  }
  endRun(items.length);
  return { messages, places };

  function endRun(end: number): void {
    if (run.length > 0) messages.push(translateRun(run, end - run.length));
    run = [];
  }

  function translateRun(items: readonly ModelItem[], start: number): Message {
    const content: Part[] = [];
    const calls: ToolCall[] = [];
    const details: ReasoningDetail[] = [];
    for (const [offset, item] of items.entries()) {
      switch (item.type) {
        case "message":
          content.push(...translateParts(item.content, `input[${start + offset}].content`, options));
          break;
        case "reasoning":
          details.push(...translateReasoning(item, options));
          break;
        case "function_call":
        case "custom_tool_call":
          calls.push(translateCall(item));
      }
    }
    return { role: "assistant", content, tool_calls: calls, reasoning_details: details };
  }

  function translateItem(
    item: Exclude<InputItem, InputItemOf<"reasoning" | "function_call" | "custom_tool_call">>,
    index: number,
  ) {
    if (item.type !== "message") {
      const content = translateParts(item.output, `input[${index}].output`, options);
      return { role: "tool" as const, tool_call_id: item.call_id, content };
    }
    const content = translateParts(item.content, `input[${index}].content`, options);
    return item.role === "user" ? { role: item.role, content } : { role: "system" as const, content };
  }
}

function isModelItem(item: InputItem): item is ModelItem {
  if (item.type === "message") return item.role === "assistant";
  return item.type === "reasoning" || item.type === "function_call" || item.type === "custom_tool_call";
}

function translateCall(item: InputItemOf<"function_call" | "custom_tool_call">): ToolCall {
  const name = flatToolName(item.name, item.namespace);
  return item.type === "custom_tool_call"
    ? { kind: "custom", id: item.call_id, name, input: item.input }
    : { kind: "function", id: item.call_id, name, arguments: item.arguments };
}

function translateParts(parts: readonly InputPart[], field: string, options: InputOptions): Part[] {
  return parts.map((part, index) => translatePart(part, `${field}[${index}]`, options));
}

function translatePart(part: InputPart, field: string, { dropped }: InputOptions): Part {
  switch (part.type) {
    case "text":
    case "input_text":
    case "output_text":
      return { type: "text", text: part.text };
    case "refusal":
      return part;
    case "input_image":
      if (part.file_id) throw refuseStored(`${field}.file_id`);
      if (!part.image_url) throw refuse(`${field}.image_url`, "is missing. Send the image as a data URL or by its address");
      if (isWish(part.detail)) dropped.add("input[].content[].detail");
      return { type: "image_url", image_url: { url: part.image_url } };
    case "input_file":
      return translateFile(part, field);
  }
}

function translateFile(part: Extract<InputPart, { type: "input_file" }>, field: string): Part {
  if (part.file_id) throw refuseStored(`${field}.file_id`);
  if (part.file_url)
    throw refuse(`${field}.file_url`, "can't be used: files are not fetched. Send the content in `file_data`, as a data URL");
  if (!part.file_data) throw refuse(`${field}.file_data`, "is missing. Send the file as a data URL");
  // The content alone is what some clients send of a PDF.
  const isBare = !part.file_data.startsWith("data:") && part.filename?.toLowerCase().endsWith(".pdf");
  const data = isBare ? `data:application/pdf;base64,${part.file_data}` : part.file_data;
  return { type: "file", file: { filename: part.filename, file_data: data } };
}

function isWish(detail: unknown): boolean {
  return detail !== undefined && detail !== null && detail !== "auto";
}

function refuseStored(field: string): GatewayError {
  return refuse(field, "names a stored file, and the gateway stores none. Send its content");
}

function refuse(field: string, sentence: string): GatewayError {
  return new GatewayError("invalid_request", `\`${field}\` ${sentence}.`, { field });
}
