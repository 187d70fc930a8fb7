import { createEmbeddedJson, REQUEST_BOUNDS } from "../../protocol/json/bounds.ts";
import { createHash } from "node:crypto";
import { GatewayError } from "../../../contract/errors.ts";
import type { Profile } from "../../../contract/profile.ts";
import { encodeJson, type Encodable } from "../../protocol/json/raw.ts";
import { parseMessagesRequest, type MessagesRequest } from "../../protocol/messages/request.ts";
import { createToolNames, type ToolNames } from "../conversation/names.ts";
import type { TranslationInput } from "../translation.ts";
import type { ChatMessage } from "./chat-message.ts";
import { translateConversation } from "./conversation.ts";
import type { ConversationContext, PlacedTurn } from "./conversation-context.ts";
import { createDroppedFields, type DroppedFields } from "./dropped-fields.ts";
import { encodeContent, textPart } from "./parts.ts";
import { createRequestText } from "./request-text.ts";
import { translateResponseFormat } from "./response-format.ts";
import { translateThinking } from "./thinking.ts";
import { toolNamesOf, translateTools } from "./tools.ts";

export interface TranslatedRequest {
  request: MessagesRequest;
  body: Buffer;
  names: ToolNames;
  dropped: readonly string[];
}

type Members = { readonly [name: string]: Encodable };

/**
 * A messages request as a chat request. `policy.ts` lists what becomes of every field.
 * @throws GatewayError `invalid_request` that names the field (S21).
 */
export function translateRequest(input: TranslationInput): TranslatedRequest {
  const request = parseMessagesRequest(input.body.whole());
  const { profile, upstreamModel } = input.backend;
  const dropped = createDroppedFields(input.body.whole());
  const names = createToolNames(toolNamesOf(request));
  const context: ConversationContext = {
    profile,
    names,
    text: createRequestText(input.body.bytes),
    embedded: createEmbeddedJson(REQUEST_BOUNDS),
    dropped,
  };
  const format = translateResponseFormat(request, context.text, profile);

  const chat: Members = {
    model: upstreamModel,
    messages: translateMessages(request, format.instruction, context).map((message) => ({ ...message })),
    [profile.maxTokensField]: input.outputTokens,
    ...translateTools(request, context),
    ...translateSampling(request, profile, dropped),
    ...translateThinking(request, profile, dropped),
    ...format.members,
    ...translateIdentity(request, profile, dropped),
    ...continuation(request, profile),
    ...streaming(request, profile),
  };
  return { request, body: Buffer.from(encodeJson(chat)), names, dropped: dropped.names() };
}

/** Coding agents put a line for their own billing in front; it changes with every request and would break prompt caches. */
const BILLING_LINE = /^x-anthropic-billing-header:[^\n]*\n?/;

function translateMessages(request: MessagesRequest, instruction: string | null, context: ConversationContext): ChatMessage[] {
  const turns = request.messages.map((turn, position): PlacedTurn => ({ turn, position }));
  if (request.system.some((block) => block.cache_control)) context.dropped.add("system.cache_control");
  const first = context.profile.systemAnywhere ? [] : leadingSystemTexts(turns);
  const texts = [
    ...request.system.map((block) => block.text.replace(BILLING_LINE, "")),
    ...first,
    ...(instruction === null ? [] : [instruction]),
  ].filter((text) => text !== "");
  const system: ChatMessage[] =
    texts.length === 0 ? [] : [{ role: "system", content: encodeContent(texts.map(textPart), context.profile.systemParts) }];
  const rest = translateConversation(turns, context);
  return [...system, ...continuing(rest, request, context.profile)];
}

/** Takes system turns off the head of the conversation: there they are the leading system message anyway. */
function leadingSystemTexts(turns: PlacedTurn[]): string[] {
  const end = turns.findIndex(({ turn }) => turn.role !== "system");
  const taken = turns.splice(0, end < 0 ? turns.length : end);
  return taken.flatMap(({ turn }) => turn.content.flatMap((block) => (block.type === "text" ? [block.text] : [])));
}

function isPrefill(request: MessagesRequest): boolean {
  return request.messages.at(-1)?.role === "assistant";
}

/** An answer that the client began, to be continued and not answered (profile flag `prefill`). */
function continuing(messages: ChatMessage[], request: MessagesRequest, { prefill }: Profile): ChatMessage[] {
  const last = messages.at(-1);
  if (!isPrefill(request) || last?.role !== "assistant") return messages;
  if (prefill === "refuse") {
    const field = `messages[${request.messages.length - 1}]`;
    throw new GatewayError(
      "invalid_request",
      `\`${field}\`: this model does not support assistant message prefill. End the conversation with a message of the user.`,
      { field },
    );
  }
  return prefill === "prefix" ? [...messages.slice(0, -1), { ...last, prefix: true }] : messages;
}

function continuation(request: MessagesRequest, { prefill }: Profile): Members {
  return isPrefill(request) && prefill === "continue_final_message"
    ? { continue_final_message: true, add_generation_prompt: false }
    : {};
}

function translateSampling(request: MessagesRequest, profile: Profile, dropped: DroppedFields): Members {
  const members: { [name: string]: Encodable } = {};
  for (const name of ["temperature", "top_p", "top_k"] as const) {
    const value = request[name];
    if (value === null || value === undefined) continue;
    if (profile.rejects.includes(name)) dropped.add(name);
    else members[name] = value;
  }
  return { ...members, ...translateStop(request.stop_sequences ?? [], profile, dropped) };
}

function translateStop(stop: readonly string[], { rejects, maxStopSequences }: Profile, dropped: DroppedFields): Members {
  if (stop.length === 0) return {};
  if (rejects.includes("stop")) {
    dropped.add("stop_sequences");
    return {};
  }
  if (maxStopSequences !== null && stop.length > maxStopSequences) {
    throw new GatewayError(
      "invalid_request",
      `\`stop_sequences\` has ${stop.length} entries. Send at most ${maxStopSequences} to this model.`,
      {
        field: "stop_sequences",
      },
    );
  }
  return { stop };
}

const MAX_USER_LENGTH = 64;

function translateIdentity(request: MessagesRequest, { rejects }: Profile, dropped: DroppedFields): Members {
  const user = request.metadata?.user_id;
  const tier = request.service_tier;
  if (user && rejects.includes("user")) dropped.add("metadata");
  if (tier && rejects.includes("service_tier")) dropped.add("service_tier");
  return {
    ...(user && !rejects.includes("user") ? { user: shortUser(user) } : {}),
    ...(tier && !rejects.includes("service_tier") ? { service_tier: tier === "auto" ? "auto" : "default" } : {}),
  };
}

/** Agents send hundreds of characters, chat takes 64: the same user keeps the same name. */
function shortUser(user: string): string {
  return user.length <= MAX_USER_LENGTH ? user : createHash("sha256").update(user).digest("hex");
}

/** Usage is always asked for: it is what is charged (S28). */
function streaming(request: MessagesRequest, { continuousUsage }: Profile): Members {
  if (request.stream !== true) return {};
  return {
    stream: true,
    stream_options: { include_usage: true, ...(continuousUsage ? { continuous_usage_stats: true } : {}) },
  };
}
