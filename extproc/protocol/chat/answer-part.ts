import { GatewayError } from "../../../contract/errors.ts";
import { checkCalls } from "../answer-bounds.ts";
import { isObject } from "../json/object.ts";
import { readArguments } from "../tool-arguments.ts";
import { readAnnotations, type Annotation } from "./annotation.ts";

/** One tool call, or a piece of one. Empty texts mean "not in this piece". */
export interface ToolPart {
  index: number | null;
  id: string;
  name: string;
  arguments: string;
  /** Gemini's signature of a call; it rejects the next turn unless the call is returned with it. */
  signature: string;
}

/** The content of one choice of a completion, or one chunk of it. */
export interface AnswerPart {
  reasoning: string;
  text: string;
  refusal: string;
  tools: ToolPart[];
  finishReason: string | null;
  /** The stop sequence that ended the answer, if the server reports it (vLLM, SGLang). */
  matchedStop: string | null;
  annotations: readonly Annotation[];
}

const NO_ANNOTATIONS: readonly Annotation[] = [];

export interface ChoiceBody {
  choice: Readonly<Record<string, unknown>>;
  /** The choice's `message` or `delta`; both have the same members. */
  body: Readonly<Record<string, unknown>>;
  /** A message: each of its tool calls is complete, and its position is its index. */
  isWhole: boolean;
}

export function readPart({ choice, body, isWhole }: ChoiceBody): AnswerPart {
  const content = readContent(body["content"]);
  return {
    reasoning: readReasoning(body) + content.reasoning,
    text: content.text,
    refusal: text(body["refusal"]),
    tools: readTools(body, isWhole),
    // Some servers send an empty reason with every chunk.
    finishReason: firstText(choice["finish_reason"]),
    matchedStop: firstText(choice["stop_reason"], choice["matched_stop"]),
    annotations: body["annotations"] === undefined ? NO_ANNOTATIONS : readAnnotations(body["annotations"]),
  };
}

/** Whether it is empty. */
export function isSilent({ reasoning, text, refusal, tools }: AnswerPart): boolean {
  return reasoning === "" && text === "" && refusal === "" && tools.length === 0;
}

/** Servers repeat one reasoning text under several names: the first non-empty one counts. */
function readReasoning(body: Readonly<Record<string, unknown>>): string {
  const direct = firstText(body["reasoning_content"], body["reasoning"]);
  if (direct !== null) return direct;
  const details = body["reasoning_details"];
  if (!Array.isArray(details)) return "";
  return details.map((detail: unknown) => (isObject(detail) ? text(detail["text"]) || text(detail["summary"]) : "")).join("");
}

/** Some servers answer with parts instead of a string, and put thinking into parts of those. There is no deeper nesting. */
export function readContent(content: unknown): { text: string; reasoning: string } {
  const answer = { text: "", reasoning: "" };
  for (const part of partsIn(content)) {
    if (isThinking(part)) for (const thought of partsIn(part.thinking)) answer.reasoning += textIn(thought);
    else answer.text += textIn(part);
  }
  return answer;
}

function partsIn(content: unknown): readonly unknown[] {
  if (content === undefined || content === null) return [];
  if (typeof content === "string") return [content];
  if (Array.isArray(content)) return content;
  throw new GatewayError("upstream_error", "The model server sent content that is neither text nor a list of parts.");
}

function textIn(part: unknown): string {
  if (typeof part === "string") return part;
  return isObject(part) && !isThinking(part) ? text(part["text"]) : "";
}

function isThinking(part: unknown): part is { readonly thinking?: unknown } {
  return isObject(part) && part["type"] === "thinking";
}

function readTools(body: Readonly<Record<string, unknown>>, isWhole: boolean): ToolPart[] {
  const calls = body["tool_calls"];
  if (Array.isArray(calls)) {
    checkCalls(calls.length);
    return calls.filter(isObject).map((call, position) => readTool(call, isWhole ? position : null));
  }
  const legacy = body["function_call"];
  return isObject(legacy)
    ? [{ index: 0, id: "", name: text(legacy["name"]), arguments: readArguments(legacy["arguments"]), signature: "" }]
    : [];
}

function readTool(call: Readonly<Record<string, unknown>>, position: number | null): ToolPart {
  const { index, id } = call;
  const body = call["function"];
  const described = isObject(body) ? body : {};
  return {
    index: position ?? (typeof index === "number" && Number.isInteger(index) ? index : null),
    id: text(id),
    name: text(described["name"]),
    arguments: readArguments(described["arguments"]),
    signature: readSignature(call["extra_content"]),
  };
}

function readSignature(extra: unknown): string {
  const google = isObject(extra) ? extra["google"] : undefined;
  return isObject(google) ? text(google["thought_signature"]) : "";
}

function firstText(...values: readonly unknown[]): string | null {
  return values.map(text).find((value) => value !== "") ?? null;
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}
