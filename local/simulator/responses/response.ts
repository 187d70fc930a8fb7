import * as z from "zod";
import { splitAnswer, type Answer } from "../answer.ts";
import type { Directive } from "../directive.ts";
import type { SimulatedError } from "../protocol.ts";
import type { SseEvent } from "../sse.ts";
import { sealReasoning } from "./sealed.ts";

/** A constant, so that the same request has the same answer: 2026-01-01. */
const CREATED_SECONDS = 1_767_225_600;

const echoSchema = z.looseObject({
  instructions: z.string().nullish(),
  include: z.array(z.string()).nullish(),
  reasoning: z.unknown().optional(),
  text: z.unknown().optional(),
  tools: z.array(z.unknown()).nullish(),
  tool_choice: z.unknown().optional(),
});

export function responsesAnswer(answer: Answer, directive: Directive, body: unknown): object {
  return finished(answer, directive, body);
}

/** Increasing numbers, one item after the other, and everything again in the last event: the grammar of the real server. */
export function* responsesEvents(answer: Answer, directive: Directive, body: unknown): Generator<SseEvent> {
  let number = 0;
  const event = (type: string, members: object): SseEvent => {
    number += 1;
    return { event: type, data: JSON.stringify({ type, sequence_number: number - 1, ...members }) };
  };
  const begun = response(answer, body, { status: "in_progress" });
  yield event("response.created", { response: begun });
  yield event("response.in_progress", { response: begun });
  for (const [index, item] of items(answer, body).entries())
    for (const [type, members] of itemEvents(item, index, directive)) yield event(type, members);
  const last = finished(answer, directive, body);
  yield event(`response.${last.status}`, { response: last });
}

export function responsesError({ status, message, type, code, field }: SimulatedError): object {
  const usual = status === 429 ? "rate_limit_error" : status >= 500 ? "server_error" : "invalid_request_error";
  return { error: { message, type: type ?? usual, param: field ?? null, code: code ?? null } };
}

/** Of a stream: a special format, without an envelope. */
export function responsesErrorEvent({ message, code, field, status }: SimulatedError): object {
  const usual = status === 429 ? "rate_limit_exceeded" : "server_error";
  return { type: "error", sequence_number: 0, code: code ?? usual, message, param: field ?? null };
}

type Item =
  | { id: string; type: "reasoning"; summary: { type: "summary_text"; text: string }[]; encrypted_content?: string }
  | { id: string; type: "message"; status: string; role: "assistant"; content: ReturnType<typeof textPart>[] }
  | { id: string; type: "function_call"; status: string; arguments: string; call_id: string; name: string };

function items(answer: Answer, body: unknown): Item[] {
  const isSealed = echoSchema.safeParse(body).data?.include?.includes("reasoning.encrypted_content") === true;
  const isCut = answer.stop.kind === "length";
  const reasoning: Item = {
    id: `rs_${answer.id}`,
    type: "reasoning",
    summary: [{ type: "summary_text", text: answer.reasoning }],
    ...(isSealed ? { encrypted_content: sealReasoning(answer.reasoning, answer.model) } : {}),
  };
  const message: Item = {
    id: `msg_${answer.id}`,
    type: "message",
    status: isCut ? "incomplete" : "completed",
    role: "assistant",
    content: [textPart(answer.text)],
  };
  const calls = answer.toolCalls.map(({ id, name, parameters }): Item => ({
    id: `fc_${id}`,
    type: "function_call",
    status: "completed",
    arguments: parameters,
    call_id: `call_${id}`,
    name,
  }));
  return [...(answer.reasoning === "" ? [] : [reasoning]), ...(answer.text === "" ? [] : [message]), ...calls];
}

function textPart(text: string) {
  return { type: "output_text", annotations: [], logprobs: [], text };
}

function* itemEvents(item: Item, output_index: number, directive: Directive): Generator<[string, object]> {
  const position = { item_id: item.id, output_index };
  yield ["response.output_item.added", { output_index, item: opened(item) }];
  switch (item.type) {
    case "reasoning":
      for (const [summary_index, part] of item.summary.entries()) {
        const at = { ...position, summary_index };
        yield ["response.reasoning_summary_part.added", { ...at, part: { ...part, text: "" } }];
        for (const delta of splitAnswer(part.text, directive)) yield ["response.reasoning_summary_text.delta", { ...at, delta }];
        yield ["response.reasoning_summary_text.done", { ...at, text: part.text }];
        yield ["response.reasoning_summary_part.done", { ...at, part }];
      }
      break;
    case "message":
      for (const [content_index, part] of item.content.entries()) {
        const at = { ...position, content_index };
        yield ["response.content_part.added", { ...at, part: textPart("") }];
        for (const delta of splitAnswer(part.text, directive))
          yield ["response.output_text.delta", { ...at, delta, logprobs: [] }];
        yield ["response.output_text.done", { ...at, text: part.text, logprobs: [] }];
        yield ["response.content_part.done", { ...at, part }];
      }
      break;
    case "function_call":
      for (const delta of splitAnswer(item.arguments, directive))
        yield ["response.function_call_arguments.delta", { ...position, delta }];
      yield ["response.function_call_arguments.done", { ...position, name: item.name, arguments: item.arguments }];
  }
  yield ["response.output_item.done", { output_index, item }];
}

function opened(item: Item): object {
  switch (item.type) {
    case "reasoning":
      return { id: item.id, type: item.type, summary: [] };
    case "message":
      return { ...item, status: "in_progress", content: [] };
    case "function_call":
      return { ...item, status: "in_progress", arguments: "" };
  }
}

function finished(answer: Answer, directive: Directive, body: unknown) {
  const reason = incompleteReason(answer);
  return response(answer, body, {
    status: reason === null ? "completed" : "incomplete",
    incomplete_details: reason === null ? null : { reason },
    output: items(answer, body),
    ...(directive.withoutUsage ? {} : { usage: usage(answer) }),
  });
}

/** The parts of the request that the real server repeats, in normal form. */
function response(answer: Answer, body: unknown, { status, ...state }: { status: string; [name: string]: unknown }) {
  const request = echoSchema.safeParse(body).data;
  return {
    id: `resp_${answer.id}`,
    object: "response",
    created_at: CREATED_SECONDS,
    error: null,
    incomplete_details: null,
    instructions: request?.instructions ?? null,
    model: answer.model,
    output: [],
    parallel_tool_calls: true,
    previous_response_id: null,
    reasoning: request?.reasoning ?? { effort: null, summary: null },
    store: false,
    text: request?.text ?? { format: { type: "text" } },
    tool_choice: request?.tool_choice ?? "auto",
    tools: request?.tools ?? [],
    truncation: "disabled",
    usage: null,
    metadata: {},
    status,
    ...state,
  };
}

/** Cached tokens are a part of `input_tokens`, reasoning is one of `output_tokens`. */
function usage({ usage }: Answer): object {
  return {
    input_tokens: usage.promptTokens,
    input_tokens_details: { cached_tokens: usage.cachedTokens, cache_write_tokens: 0 },
    output_tokens: usage.outputTokens,
    output_tokens_details: { reasoning_tokens: usage.reasoningTokens },
    total_tokens: usage.promptTokens + usage.outputTokens,
  };
}

function incompleteReason({ stop }: Answer): string | null {
  switch (stop.kind) {
    case "end":
    case "sequence":
    case "tools":
      return null;
    case "length":
      return "max_output_tokens";
    case "forced":
      return stop.reason;
  }
}
