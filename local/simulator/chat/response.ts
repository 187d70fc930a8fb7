import * as z from "zod";
import { splitAnswer, type Answer } from "../answer.ts";
import type { Directive } from "../directive.ts";
import { countTokens } from "../prompt.ts";
import type { SimulatedError } from "../protocol.ts";
import type { SseEvent } from "../sse.ts";

/** A constant, so that the same request has the same answer: 2026-01-01. */
const CREATED_SECONDS = 1_767_225_600;

const streamOptions = z.looseObject({
  stream_options: z
    .looseObject({ include_usage: z.boolean().nullish(), continuous_usage_stats: z.boolean().nullish() })
    .nullish(),
});

export function chatAnswer(answer: Answer, directive: Directive): object {
  return {
    id: `chatcmpl-${answer.id}`,
    object: "chat.completion",
    created: CREATED_SECONDS,
    model: answer.model,
    choices: [
      {
        index: 0,
        message: {
          role: "assistant",
          content: answer.text === "" && answer.toolCalls.length > 0 ? null : answer.text,
          refusal: null,
          ...(answer.reasoning === "" ? {} : { reasoning_content: answer.reasoning }),
          ...(answer.toolCalls.length === 0 ? {} : { tool_calls: answer.toolCalls.map(toolCall) }),
        },
        logprobs: null,
        finish_reason: finishReason(answer),
      },
    ],
    ...(directive.withoutUsage ? {} : { usage: usage(answer, answer.usage.outputTokens) }),
    system_fingerprint: "fp_simulation",
  };
}

/** Usage is sent only if the client requested it in `stream_options`, as the real servers do. */
export function* chatEvents(answer: Answer, directive: Directive, body: unknown): Generator<SseEvent> {
  const options = streamOptions.safeParse(body).data?.stream_options;
  const sendsUsage = options?.include_usage === true && !directive.withoutUsage;
  const isContinuous = sendsUsage && options?.continuous_usage_stats === true;
  let produced = 0;

  function chunk(delta: object, finish: string | null = null): SseEvent {
    const sofar = isContinuous ? usage(answer, produced) : null;
    return event(answer, {
      choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
      ...(sendsUsage ? { usage: sofar } : {}),
    });
  }
  function deltaEvent(text: string, delta: object): SseEvent {
    produced = Math.min(produced + countTokens(text), answer.usage.outputTokens);
    return chunk(delta);
  }

  yield chunk({ role: "assistant", content: "", refusal: null });
  for (const piece of splitAnswer(answer.reasoning, directive)) yield deltaEvent(piece, { reasoning_content: piece });
  for (const piece of splitAnswer(answer.text, directive)) yield deltaEvent(piece, { content: piece });
  for (const [index, call] of answer.toolCalls.entries()) {
    const { function: called, ...identity } = toolCall(call);
    yield chunk({ tool_calls: [{ index, ...identity, function: { ...called, arguments: "" } }] });
    for (const piece of splitAnswer(call.parameters, directive))
      yield deltaEvent(piece, { tool_calls: [{ index, function: { arguments: piece } }] });
  }
  produced = answer.usage.outputTokens;
  yield chunk({}, finishReason(answer));
  if (sendsUsage) yield event(answer, { choices: [], usage: usage(answer, produced) });
  yield { data: "[DONE]" };
}

export function chatError({ status, message, type, code, field }: SimulatedError): object {
  const usual = status === 429 ? "rate_limit_error" : status >= 500 ? "server_error" : "invalid_request_error";
  return { error: { message, type: type ?? usual, param: field ?? null, code: code ?? null } };
}

function event(answer: Answer, rest: object): SseEvent {
  const head = { id: `chatcmpl-${answer.id}`, object: "chat.completion.chunk", created: CREATED_SECONDS, model: answer.model };
  return { data: JSON.stringify({ ...head, system_fingerprint: "fp_simulation", ...rest }) };
}

/** Cached tokens are a part of `prompt_tokens`. */
function usage({ usage }: Answer, outputTokens: number): object {
  return {
    prompt_tokens: usage.promptTokens,
    completion_tokens: outputTokens,
    total_tokens: usage.promptTokens + outputTokens,
    prompt_tokens_details: { cached_tokens: usage.cachedTokens },
    completion_tokens_details: { reasoning_tokens: Math.min(usage.reasoningTokens, outputTokens) },
  };
}

function toolCall({ id, name, parameters }: Answer["toolCalls"][number]) {
  return { id: `call_${id}`, type: "function", function: { name, arguments: parameters } };
}

function finishReason({ stop }: Answer): string {
  switch (stop.kind) {
    case "end":
    case "sequence":
      return "stop";
    case "length":
      return "length";
    case "tools":
      return "tool_calls";
    case "forced":
      return stop.reason;
  }
}
