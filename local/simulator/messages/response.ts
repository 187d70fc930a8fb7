import { createHash } from "node:crypto";
import { splitAnswer, type Answer } from "../answer.ts";
import type { Directive } from "../directive.ts";
import type { SimulatedError } from "../protocol.ts";
import type { SseEvent } from "../sse.ts";

export function messagesAnswer(answer: Answer, directive: Directive): object {
  return {
    id: `msg_${answer.id}`,
    type: "message",
    role: "assistant",
    model: answer.model,
    content: [
      ...(answer.reasoning === "" ? [] : [{ type: "thinking", thinking: answer.reasoning, signature: sign(answer.reasoning) }]),
      ...(answer.text === "" ? [] : [{ type: "text", text: answer.text }]),
      ...answer.toolCalls.map(({ id, name, parameters }) => ({
        type: "tool_use",
        id: `toolu_${id}`,
        name,
        input: JSON.parse(parameters),
      })),
    ],
    stop_reason: stopReason(answer),
    stop_sequence: answer.stop.kind === "sequence" ? answer.stop.sequence : null,
    ...(directive.withoutUsage ? {} : { usage: usage(answer, answer.usage.outputTokens) }),
  };
}

/** `message_start` reports one output token, a placeholder that the last `message_delta` overwrites, as the real servers do. */
export function* messagesEvents(answer: Answer, directive: Directive): Generator<SseEvent> {
  const start = {
    id: `msg_${answer.id}`,
    type: "message",
    role: "assistant",
    model: answer.model,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    ...(directive.withoutUsage ? {} : { usage: usage(answer, 1) }),
  };
  yield event("message_start", { message: start });
  yield event("ping", {});
  for (const [index, block] of blocks(answer, directive).entries()) {
    yield event("content_block_start", { index, content_block: block.start });
    for (const delta of block.deltas) yield event("content_block_delta", { index, delta });
    yield event("content_block_stop", { index });
  }
  const stopSequence = answer.stop.kind === "sequence" ? answer.stop.sequence : null;
  yield event("message_delta", {
    delta: { stop_reason: stopReason(answer), stop_sequence: stopSequence },
    ...(directive.withoutUsage ? {} : { usage: finalUsage(answer) }),
  });
  yield event("message_stop", {});
}

export function messagesError({ status, message, type }: SimulatedError): object {
  return {
    type: "error",
    error: { type: type ?? ERROR_TYPES[status] ?? (status >= 500 ? "api_error" : "invalid_request_error"), message },
  };
}

const ERROR_TYPES: Readonly<Record<number, string>> = {
  401: "authentication_error",
  402: "billing_error",
  403: "permission_error",
  404: "not_found_error",
  413: "request_too_large",
  429: "rate_limit_error",
  504: "timeout_error",
  529: "overloaded_error",
};

interface StreamedBlock {
  start: object;
  deltas: object[];
}

function blocks(answer: Answer, directive: Directive): StreamedBlock[] {
  const thinking: StreamedBlock = {
    start: { type: "thinking", thinking: "", signature: "" },
    deltas: [
      ...splitAnswer(answer.reasoning, directive).map((piece) => ({ type: "thinking_delta", thinking: piece })),
      { type: "signature_delta", signature: sign(answer.reasoning) },
    ],
  };
  const text: StreamedBlock = {
    start: { type: "text", text: "" },
    deltas: splitAnswer(answer.text, directive).map((piece) => ({ type: "text_delta", text: piece })),
  };
  const tools = answer.toolCalls.map(({ id, name, parameters }) => ({
    start: { type: "tool_use", id: `toolu_${id}`, name, input: {} },
    deltas: ["", ...splitAnswer(parameters, directive)].map((piece) => ({ type: "input_json_delta", partial_json: piece })),
  }));
  return [...(answer.reasoning === "" ? [] : [thinking]), ...(answer.text === "" ? [] : [text]), ...tools];
}

function event(type: string, members: object): SseEvent {
  return { event: type, data: JSON.stringify({ type, ...members }) };
}

/** Cached tokens are not a part of `input_tokens`. */
function usage({ usage }: Answer, outputTokens: number): object {
  return {
    input_tokens: usage.promptTokens - usage.cachedTokens,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: usage.cachedTokens,
    cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 },
    output_tokens: outputTokens,
    service_tier: "standard",
  };
}

function finalUsage({ usage }: Answer): object {
  return {
    input_tokens: usage.promptTokens - usage.cachedTokens,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: usage.cachedTokens,
    output_tokens: usage.outputTokens,
  };
}

/** Like the real one, opaque and bound to the text that it signs. */
function sign(reasoning: string): string {
  return createHash("sha256").update(`simulation ${reasoning}`).digest("base64");
}

function stopReason({ stop }: Answer): string {
  switch (stop.kind) {
    case "end":
      return "end_turn";
    case "sequence":
      return "stop_sequence";
    case "length":
      return "max_tokens";
    case "tools":
      return "tool_use";
    case "forced":
      return stop.reason;
  }
}
