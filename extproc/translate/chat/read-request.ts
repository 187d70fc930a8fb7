import { GatewayError } from "../../../contract/errors.ts";
import { parseChatRequest, type ChatRequest } from "../../protocol/chat/request.ts";
import { RawJson } from "../../protocol/json/raw.ts";
import { rawMember } from "../../protocol/json/scan.ts";
import { createOmitted, type ClientWords, type Omitted, type ReadRequest } from "../conversation/conversation.ts";
import { below, fieldPath } from "../conversation/field-path.ts";
import { opaqueUserId } from "../conversation/user-id.ts";
import type { FormatWish, Wishes } from "../conversation/wish.ts";
import type { TranslationInput } from "../translation.ts";
import { droppedFields } from "./dropped-fields.ts";
import { readTurns } from "./read-turns.ts";
import { readThinking } from "./thinking.ts";
import { readTools } from "./tools.ts";

export interface ReadChatRequest extends ReadRequest {
  asked: AskedOfAnswer;
}

/** The form of the answer that the client requests. */
export interface AskedOfAnswer {
  /** Tools whose input is free text. */
  customTools: ReadonlySet<string>;
  /** The client speaks `function_call`. */
  isLegacy: boolean;
  wantsUsage: boolean;
  hidesReasoning: boolean;
}

const WORDS: Omit<ClientWords, "outputLimit" | "serialCalls"> = {
  thinking: "messages[].reasoning_content",
  redactedThinking: "messages[].reasoning_details",
  strictTool: "tools[].function.strict",
  imageDetail: "messages[].content[].image_url.detail",
};

/** @throws GatewayError `invalid_request` that names the field that is invalid or that no other protocol has (S21). */
export function readRequest({ body }: Pick<TranslationInput, "body">): ReadChatRequest {
  const parsed = body.whole();
  const request = parseChatRequest(parsed);
  const omitted = createOmitted(droppedFields(parsed));
  refuseSeveralAnswers(request);
  const cacheTtl = request.prompt_cache_retention === "24h" ? "1h" : null;
  const { tools, choice, isLegacy } = readTools(request, { body: body.bytes, cacheTtl, omitted });
  const { system, turns } = readTurns(request.messages, { cacheTtl, omitted });
  const isSerial = request.parallel_tool_calls === false;
  return {
    conversation: {
      model: request.model,
      wantsStream: request.stream === true,
      system,
      turns,
      tools,
      choice,
      isSerial: isSerial || isLegacy,
      wishes: readWishes(request, body.bytes, omitted),
      words: {
        ...WORDS,
        serialCalls: isSerial ? "parallel_tool_calls" : null,
        outputLimit: limitName(request),
      },
    },
    omitted,
    asked: {
      customTools: new Set(tools.filter(({ kind }) => kind === "custom").map(({ name }) => name)),
      isLegacy,
      wantsUsage: request.stream_options?.include_usage === true,
      hidesReasoning: request.reasoning?.exclude === true,
    },
  };
}

/** Of the two limits, that which holds: the lower one. */
function limitName({ max_completion_tokens: limit, max_tokens: older }: ChatRequest): string {
  return (limit ?? Infinity) <= (older ?? Infinity) && (limit ?? null) !== null ? "max_completion_tokens" : "max_tokens";
}

function refuseSeveralAnswers({ n }: ChatRequest): void {
  if (typeof n !== "number" || n <= 1) return;
  const sentence = "`n` must be 1: this model gives one answer per request. Send the request several times instead.";
  throw new GatewayError("invalid_request", sentence, { field: "n" });
}

function readWishes(request: ChatRequest, body: Buffer, omitted: Omitted): Wishes {
  const { user, safety_identifier: safety, verbosity } = request;
  const tier = request.service_tier;
  if (tier !== undefined && tier !== null && tier !== "auto" && tier !== "default") omitted.wishes.add("service_tier");
  return {
    temperature: request.temperature ?? null,
    topP: request.top_p ?? null,
    topK: request.top_k ?? null,
    stop: { sequences: request.stop ?? [], field: "stop" },
    thinking: readThinking(request),
    format: readFormat(request, body),
    user: user ? { id: opaqueUserId(user), field: "user" } : null,
    safetyIdentifier: safety ? opaqueUserId(safety) : null,
    // "auto" is every server's behavior.
    tier: tier === "default" ? "standard" : null,
    verbosity: verbosity ? { level: verbosity, field: "verbosity" } : null,
    promptCache: {
      key: request.prompt_cache_key || null,
      retention: request.prompt_cache_retention || null,
      isInMarks: true,
    },
  };
}

/** @param body the request as written: the schema is forwarded as the client wrote it. */
function readFormat({ response_format: wanted }: ChatRequest, body: Buffer): FormatWish | null {
  if (wanted?.type === "json_object") return { type: "json_object" };
  if (wanted?.type !== "json_schema") return null;
  const written = rawMember(rawMember(rawMember(body, "response_format"), "json_schema"), "schema");
  const at = fieldPath("response_format");
  const { name, description, strict, schema } = wanted.json_schema;
  return {
    type: "json_schema",
    schema: new RawJson(written?.toString("utf8") ?? "{}"),
    parsed: schema,
    name: name || null,
    description: description || null,
    strict: strict ?? null,
    at,
    schemaAt: below(below(at, "json_schema"), "schema"),
  };
}
