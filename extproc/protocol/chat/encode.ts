import { promptTokensOf, type Usage } from "../../../contract/usage.ts";
import { encodeSseEvent } from "../sse.ts";

/** Constant parts of one answer. */
export interface AnswerHead {
  id: string;
  /** Unix seconds. */
  created: number;
  /** The name that the client requested. */
  model: string;
}

export type FinishReason = "stop" | "length" | "tool_calls" | "content_filter" | "function_call";

export type ToolCall =
  | { id: string; type: "function"; function: { name: string; arguments: string } }
  | { id: string; type: "custom"; custom: { name: string; input: string } };

/** One entry of `reasoning_details`: a thinking block that the client may send back unchanged. */
export type ReasoningDetail =
  | { type: "reasoning.text"; text: string; signature: string; id?: string; format: string; index: number }
  | { type: "reasoning.encrypted"; data: string; id?: string; format: string; index: number };

export interface UrlCitation {
  type: "url_citation";
  url_citation: { url: string; title: string; start_index: number; end_index: number };
}

export interface AnswerMessage {
  role: "assistant";
  content: string | null;
  refusal: string | null;
  reasoning_content?: string;
  reasoning_details?: ReasoningDetail[];
  annotations?: UrlCitation[];
  tool_calls?: ToolCall[];
  function_call?: { name: string; arguments: string };
}

export interface Ending {
  finishReason: FinishReason;
  /** The stop sequence that ended the answer, for interested clients (`choices[].stop_reason`). */
  stopSequence: string | null;
}

/** A complete answer (`chat.completion`). Strict clients, such as OpenRouter's SDKs, require `system_fingerprint`, even if null. */
export function encodeCompletion(head: AnswerHead, message: AnswerMessage, ending: Ending, usage: Usage): Buffer {
  const choice = { index: 0, message, logprobs: null, finish_reason: ending.finishReason, ...stopReason(ending) };
  const answer = { ...object(head, "chat.completion"), choices: [choice], usage: encodeUsage(usage), system_fingerprint: null };
  return Buffer.from(JSON.stringify(answer));
}

/** A part of the answer in a stream: its addition to the message. */
export interface Delta {
  role?: "assistant";
  content?: string;
  refusal?: string;
  reasoning_content?: string;
  reasoning_details?: ReasoningDetail[];
  annotations?: UrlCitation[];
  tool_calls?: ToolCallDelta[];
  function_call?: { name?: string; arguments: string };
}

type ToolCallDelta =
  | { index: number; id?: string; type?: "function"; function: { name?: string; arguments: string } }
  | { index: number; id: string; type: "custom"; custom: { name: string; input: string } };

export interface ChunkEncoder {
  /** @param index of the answer, if there are several. */
  delta(delta: Delta, index?: number): string;
  /** The bytes around the JSON string of a delta with only text. */
  textFrame(): { before: string; after: string };
  finish(ending: Ending, index?: number): string;
  usage(usage: Usage): string;
  done(): string;
}

/** @param wantsUsage the client requested usage: chunks before the one that has it contain `usage: null`. */
export function createChunkEncoder(head: AnswerHead, wantsUsage: boolean): ChunkEncoder {
  const base = object(head, "chat.completion.chunk");
  const noUsage = wantsUsage ? { usage: null } : {};

  function chunk(choices: readonly object[], usage: object): string {
    return encodeSseEvent(null, JSON.stringify({ ...base, choices, ...usage }));
  }

  const delta = (delta: Delta, index = 0) => chunk([{ index, delta, logprobs: null, finish_reason: null }], noUsage);

  return {
    delta,
    textFrame() {
      const empty = delta({ content: "" });
      // Nothing after the text is an empty string.
      const at = empty.lastIndexOf('""') + 1;
      return { before: empty.slice(0, at), after: empty.slice(at) };
    },
    finish: (ending, index = 0) =>
      chunk([{ index, delta: {}, logprobs: null, finish_reason: ending.finishReason, ...stopReason(ending) }], noUsage),
    usage: (usage) => chunk([], { usage: encodeUsage(usage) }),
    done: () => encodeSseEvent(null, "[DONE]"),
  };
}

/** Chat counts cached tokens inside `prompt_tokens`; the classes of `Usage` are disjoint. */
export function encodeUsage(usage: Usage) {
  const promptTokens = promptTokensOf(usage);
  return {
    prompt_tokens: promptTokens,
    completion_tokens: usage.outputTokens,
    total_tokens: promptTokens + usage.outputTokens,
    prompt_tokens_details: { cached_tokens: usage.cachedInputTokens, cache_write_tokens: usage.cacheWriteTokens },
    completion_tokens_details: { reasoning_tokens: usage.reasoningTokens },
  };
}

function object({ id, created, model }: AnswerHead, kind: string): object {
  return { id, object: kind, created, model };
}

function stopReason({ stopSequence }: Ending): object {
  return stopSequence === null ? {} : { stop_reason: stopSequence };
}
