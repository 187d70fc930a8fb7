import { ERRORS, type GatewayError } from "../../../contract/errors.ts";
import { promptTokensOf, type Usage } from "../../../contract/usage.ts";
import { encodeJson, RawJson } from "../json/raw.ts";
import type { OutputItem } from "./output-item.ts";

/** Fields that are the same in every form of one response. */
export interface ResponseHead {
  id: string;
  /** Unix seconds. */
  created: number;
  /** The model name from the client's request. */
  model: string;
  /** Members of the request that the response repeats, as written. */
  echoed: { readonly [name: string]: RawJson };
}

/** The response's progress. */
export type ResponseState =
  | { status: "in_progress" }
  | { status: "completed"; usage: Usage; atSeconds: number }
  | { status: "incomplete"; reason: "max_output_tokens" | "content_filter"; usage: Usage }
  | { status: "failed"; error: GatewayError };

/**
 * The response object as JSON text. It has all members that the schema of Open Responses requires, which strict clients check; a
 * member that the request leaves out has the interface's default.
 */
export function encodeResponse(head: ResponseHead, state: ResponseState, output: readonly OutputItem[]): string {
  return encodeJson({
    id: head.id,
    object: "response",
    created_at: head.created,
    completed_at: state.status === "completed" ? state.atSeconds : null,
    status: state.status,
    background: false,
    error: state.status === "failed" ? encodeError(state.error) : null,
    frequency_penalty: 0,
    incomplete_details: state.status === "incomplete" ? { reason: state.reason } : null,
    instructions: null,
    max_output_tokens: null,
    max_tool_calls: null,
    model: head.model,
    output: new RawJson(JSON.stringify(output)),
    parallel_tool_calls: true,
    presence_penalty: 0,
    previous_response_id: null,
    prompt_cache_key: null,
    reasoning: { effort: null, summary: null },
    safety_identifier: null,
    service_tier: "default",
    store: false,
    temperature: 1,
    text: { format: { type: "text" } },
    tool_choice: "auto",
    tools: [],
    top_logprobs: 0,
    top_p: 1,
    truncation: "disabled",
    // For a failed response it would depend on how far the gateway had read.
    usage: "usage" in state ? encodeUsage(state.usage) : null,
    user: null,
    metadata: {},
    ...head.echoed,
  });
}

/** Clients act on a few codes (context too long, a limit); to them, everything else is a server error. */
const SHOWN_CODES: readonly string[] = ["context_length_exceeded", "rate_limit_exceeded"];

export function encodeError(error: GatewayError): { code: string; message: string } {
  const code = ERRORS[error.code].chat.code ?? "";
  return { code: SHOWN_CODES.includes(code) ? code : "server_error", message: error.message };
}

/**
 * What an `error` event says, twice: at the top, as OpenAI documents it, and in `error`, as its servers send it. Its SDKs throw only
 * for the latter; to programs that read the former alone, a stream that broke off would look complete (S22).
 */
export function errorMembers({ code: name, message, field: param }: GatewayError) {
  const { type, code } = ERRORS[name].chat;
  return { code, message, param, error: { type, code, message, param } };
}

/** Responses counts cached tokens inside `input_tokens`; the classes of `Usage` are disjoint. */
export function encodeUsage(usage: Usage) {
  const inputTokens = promptTokensOf(usage);
  return {
    input_tokens: inputTokens,
    input_tokens_details: { cached_tokens: usage.cachedInputTokens, cache_write_tokens: usage.cacheWriteTokens },
    output_tokens: usage.outputTokens,
    output_tokens_details: { reasoning_tokens: usage.reasoningTokens },
    total_tokens: inputTokens + usage.outputTokens,
  };
}
