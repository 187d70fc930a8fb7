import { ANSWER_BOUNDS, parseWithin } from "../../protocol/json/bounds.ts";
import type { Meter } from "../../meter/meter.ts";
import { eventsInBody } from "../../protocol/body-sniffer.ts";
import type { AnswerBlock, Citation } from "../../protocol/messages/answer-block.ts";
import { parseAnswer } from "../../protocol/messages/answer.ts";
import { messagesUsage } from "../../protocol/messages/usage.ts";
import {
  encodeCompletion,
  type AnswerMessage,
  type ReasoningDetail,
  type ToolCall,
  type UrlCitation,
} from "../../protocol/chat/encode.ts";
import { mintToolId } from "../conversation/ids.ts";
import { messageOf } from "../passthrough/streamed-message.ts";
import { unwrapAnswer } from "./answer-tool.ts";
import { mapStopReason } from "./finish.ts";
import { REASONING_FORMAT } from "./reasoning-history.ts";
import type { AnswerFacts } from "./request.ts";

export interface AnswerContext {
  facts: AnswerFacts;
  requestId: string;
  nowSeconds: number;
  isUsageInclusive: boolean;
}

/**
 * A whole message as a chat completion.
 * @throws GatewayError `upstream_error` when the body is no message.
 */
export function translateAnswer(body: Buffer, meter: Meter, context: AnswerContext): Buffer {
  const { facts, requestId, nowSeconds } = context;
  const events = eventsInBody(body);
  const message = parseAnswer(events === null ? body : messageOf(events, "chat"));
  const { answerTool } = facts;
  const answer = answerTool === null ? message : { ...message, content: unwrapAnswer(message.content, answerTool) };
  for (const block of answer.content) meter.produced(textOf(block));
  meter.report(messagesUsage(answer.usage, { isInclusive: context.isUsageInclusive }) ?? {});

  const content = answer.content.map((block) => (block.type === "text" ? block.text : "")).join("");
  const calls = translateCalls(answer.content, context);
  const ending = mapStopReason({ ...answer, hasToolCalls: calls.length > 0, isLegacy: facts.isLegacy });
  const said: AnswerMessage = {
    role: "assistant",
    content: content === "" && calls.length > 0 ? null : content,
    refusal: ending.finishReason === "content_filter" && content === "" ? answer.explanation : null,
    ...(facts.hidesReasoning ? {} : reasoningOf(answer.content)),
    ...annotationsOf(answer.content),
    ...callMembers(calls, facts.isLegacy),
  };
  return encodeCompletion(
    { id: completionId(answer.id, requestId), created: nowSeconds, model: facts.model },
    said,
    ending,
    meter.final().usage,
  );
}

/** `msg_abc` ⇒ `chatcmpl-abc`, and any other id behind `chatcmpl-`; one of ours where the upstream gave none. */
export function completionId(messageId: string, requestId: string): string {
  if (messageId === "" || messageId.length > 256) return `chatcmpl-${requestId.replaceAll("-", "")}`;
  return `chatcmpl-${messageId.startsWith("msg_") ? messageId.slice("msg_".length) : messageId}`;
}

/** One tool call in the client's words. @param input the JSON text of its arguments. */
export function translateCall(call: { id: string; name: string; input: string }, facts: AnswerFacts): ToolCall {
  const name = facts.names.toClient(call.name);
  if (facts.customTools.has(name)) return { id: call.id, type: "custom", custom: { name, input: freeText(call.input) } };
  return { id: call.id, type: "function", function: { name, arguments: call.input } };
}

/** Ids of one answer's calls: the upstream's own, or minted where it gave none or one twice. */
export function createCallIds(requestId: string): (id: string, index: number) => string {
  const used = new Set<string>();
  return (id, index) => {
    const unique = id !== "" && !used.has(id) ? id : mintToolId("call_", { requestId, index });
    used.add(unique);
    return unique;
  };
}

/** What a client shows beside the text that a source stands behind. */
export function toAnnotations(citations: readonly Citation[], range: { start: number; end: number }): UrlCitation[] {
  return citations.map(({ url, title }) => ({
    type: "url_citation",
    url_citation: { url, title: title ?? url, start_index: range.start, end_index: range.end },
  }));
}

/** A block of thinking for `reasoning_details`, from which `reasoning-history.ts` makes the block again. */
export function toReasoningDetail(
  block: Extract<AnswerBlock, { type: "thinking" | "redacted_thinking" }>,
  index: number,
): ReasoningDetail {
  if (block.type === "redacted_thinking")
    return { type: "reasoning.encrypted", data: block.data, format: REASONING_FORMAT, index };
  return { type: "reasoning.text", text: block.thinking, signature: block.signature, format: REASONING_FORMAT, index };
}

/** Unsigned thinking can never go back to its server, so it is shown and not kept. */
export function isReturnable(block: AnswerBlock): block is Extract<AnswerBlock, { type: "thinking" | "redacted_thinking" }> {
  return block.type === "redacted_thinking" || (block.type === "thinking" && block.signature !== "");
}

function translateCalls(content: readonly AnswerBlock[], { facts, requestId }: AnswerContext): ToolCall[] {
  const callId = createCallIds(requestId);
  const uses = content.filter((block) => block.type === "tool_use");
  return uses.map((use, index) => translateCall({ ...use, id: callId(use.id, index) }, facts));
}

function callMembers(calls: readonly ToolCall[], isLegacy: boolean): Pick<AnswerMessage, "tool_calls" | "function_call"> {
  const [first] = calls;
  if (first === undefined) return {};
  if (isLegacy && first.type === "function") return { function_call: first.function };
  return { tool_calls: [...calls] };
}

function reasoningOf(content: readonly AnswerBlock[]): Pick<AnswerMessage, "reasoning_content" | "reasoning_details"> {
  const text = content.map((block) => (block.type === "thinking" ? block.thinking : "")).join("");
  const details = content.filter(isReturnable).map(toReasoningDetail);
  return { ...(text !== "" && { reasoning_content: text }), ...(details.length > 0 && { reasoning_details: details }) };
}

function annotationsOf(content: readonly AnswerBlock[]): Pick<AnswerMessage, "annotations"> {
  const annotations: UrlCitation[] = [];
  let start = 0;
  for (const block of content) {
    if (block.type !== "text") continue;
    const end = start + block.text.length;
    annotations.push(...toAnnotations(block.citations, { start, end }));
    start = end;
  }
  return annotations.length > 0 ? { annotations } : {};
}

/** The text inside `{"input": …}`; an answer cut off by max_tokens may hold half of it, which goes as it is. */
export function freeText(input: string): string {
  try {
    const parsed = parseWithin(input, ANSWER_BOUNDS);
    const text = typeof parsed === "object" && parsed !== null ? Reflect.get(parsed, "input") : undefined;
    return typeof text === "string" ? text : input;
  } catch {
    return input;
  }
}

function textOf(block: AnswerBlock): string {
  switch (block.type) {
    case "text":
      return block.text;
    case "thinking":
      return block.thinking;
    case "tool_use":
      // A call without arguments says nothing more.
      return block.input === "{}" ? "" : block.input;
    case "redacted_thinking":
    case "other":
      return "";
  }
}
