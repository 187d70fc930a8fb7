import { createEmbeddedJson, REQUEST_BOUNDS } from "../../protocol/json/bounds.ts";
import { RawJson } from "../../protocol/json/raw.ts";
import { parseMessagesRequest, type MessagesRequest } from "../../protocol/messages/request.ts";
import { createOmitted, type ClientWords, type Omitted, type ReadRequest } from "../conversation/conversation.ts";
import { below, fieldPath } from "../conversation/field-path.ts";
import type { TextBlock } from "../conversation/turn.ts";
import type { FormatWish, Wishes } from "../conversation/wish.ts";
import type { TranslationInput } from "../translation.ts";
import { droppedFields } from "./dropped-fields.ts";
import { readTurns } from "./read-turns.ts";
import { createRequestText, type RequestText } from "./request-text.ts";
import { readThinking } from "./thinking.ts";
import { readChoice, readTools } from "./tools.ts";

export interface ReadMessagesRequest extends ReadRequest {
  /** The ids of its calls, as the client writes them. */
  callIds: ReadonlySet<string>;
}

const WORDS: ClientWords = {
  thinking: "messages.content.thinking",
  redactedThinking: "messages.content.redacted_thinking",
  strictTool: "tools.strict",
  imageDetail: "messages.content.image",
  outputLimit: "max_tokens",
  serialCalls: "tool_choice.disable_parallel_tool_use",
};

/** @throws GatewayError `invalid_request` that names the field that is invalid or that no other protocol has (S21). */
export function readRequest({ body }: Pick<TranslationInput, "body">): ReadMessagesRequest {
  const request = parseMessagesRequest(body.whole());
  const omitted = createOmitted(droppedFields(body.whole()));
  const text = createRequestText(body.bytes);
  if (request.system.some((block) => block.cache_control)) omitted.content.add("system.cache_control");
  const turns = readTurns(request.messages, { text, embedded: createEmbeddedJson(REQUEST_BOUNDS), omitted });
  const tools = readTools(request.tools ?? [], text, omitted);
  const choice = request.tool_choice ?? null;
  return {
    conversation: {
      model: request.model,
      wantsStream: request.stream === true,
      system: readSystem(request),
      turns,
      tools,
      choice: readChoice(choice, tools),
      isSerial: choice !== null && choice.type !== "none" && choice.disable_parallel_tool_use === true,
      wishes: readWishes(request, text, omitted),
      words: WORDS,
    },
    omitted,
    callIds: new Set(
      request.messages.flatMap(({ content }) => content.flatMap((block) => (block.type === "tool_use" ? [block.id] : []))),
    ),
  };
}

/**
 * Coding agents insert a line for their own billing at the front; it changes with every request and would break prompt caches.
 */
const BILLING_LINE = /^x-anthropic-billing-header:[^\n]*\n?/;

function readSystem({ system }: MessagesRequest): TextBlock[] {
  const at = fieldPath("system");
  return system.map((block, index) => ({
    type: "text",
    text: block.text.replace(BILLING_LINE, ""),
    cache: null,
    at: below(at, index),
  }));
}

function readWishes(request: MessagesRequest, text: RequestText, omitted: Omitted): Wishes {
  const user = request.metadata?.user_id;
  return {
    temperature: request.temperature ?? null,
    topP: request.top_p ?? null,
    topK: request.top_k ?? null,
    stop: { sequences: request.stop_sequences ?? [], field: "stop_sequences" },
    thinking: readThinking(request, omitted),
    format: readFormat(request, text),
    user: user ? { id: user, field: "metadata" } : null,
    safetyIdentifier: null,
    tier: tierOf(request.service_tier),
    verbosity: null,
    promptCache: { key: null, retention: null, isInMarks: true },
  };
}

function tierOf(tier: MessagesRequest["service_tier"]): Wishes["tier"] {
  switch (tier) {
    case "auto":
      return "auto";
    case "standard_only":
      return "standard";
    case null:
    case undefined:
      return null;
  }
}

function readFormat(request: MessagesRequest, text: RequestText): FormatWish | null {
  const format = request.output_config?.format ?? request.output_format;
  if (format === null || format === undefined) return null;
  const steps = request.output_config?.format ? ["output_config", "format"] : ["output_format"];
  const [first = "", ...rest] = steps;
  const at = rest.reduce(below, fieldPath(first));
  return {
    type: "json_schema",
    schema: text.at([...steps, "schema"]) ?? new RawJson("{}"),
    parsed: format.schema,
    name: null,
    description: null,
    strict: null,
    at,
    schemaAt: below(at, "schema"),
  };
}
