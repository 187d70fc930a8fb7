import type { Profile } from "../../../contract/profile.ts";
import { encodeJson, type Encodable } from "../../protocol/json/raw.ts";
import { toolNamesIn, type Conversation, type Omitted, type ReadRequest } from "../conversation/conversation.ts";
import { fieldError, fieldPath } from "../conversation/field-path.ts";
import { createToolNames, type ToolNames } from "../conversation/names.ts";
import { noPrefill, type Turn } from "../conversation/turn.ts";
import type { Wishes } from "../conversation/wish.ts";
import { writeIdentity, writePromptCache, writeVerbosity } from "../conversation/write-wishes.ts";
import type { TranslationInput } from "../translation.ts";
import type { ChatMessage } from "./chat-message.ts";
import { encodeContent, textPart } from "./parts.ts";
import { writeFormat } from "./response-format.ts";
import { writeThinking } from "./thinking.ts";
import { writeTools } from "./tools.ts";
import type { TurnsContext } from "./turns-context.ts";
import { writeTurns } from "./write-turns.ts";

/** A request for a chat server, and the state needed to read its answer. */
export interface WrittenRequest {
  body: Buffer;
  names: ToolNames;
}

type WriteInput = Pick<TranslationInput, "backend" | "model" | "outputTokens">;
type Members = { readonly [name: string]: Encodable };

/** @throws GatewayError `invalid_request` that names the field that this server does not support (S21). */
export function writeRequest(
  { conversation, omitted }: ReadRequest,
  { backend, model, outputTokens }: WriteInput,
): WrittenRequest {
  const { profile, upstreamModel } = backend;
  const { wishes, words } = conversation;
  const names = createToolNames(toolNamesIn(conversation));
  const format = writeFormat(wishes.format, profile);
  const messages = writeMessages(conversation, format.instruction, { profile, model: model.name, names, words, omitted });
  const body = encodeJson({
    model: upstreamModel,
    messages: messages.map((message) => ({ ...message })),
    [profile.maxTokensField]: outputTokens,
    ...writeTools(conversation, { names, profile, omitted }),
    ...writeSampling(wishes, profile, omitted),
    ...writeThinking(wishes.thinking, profile, omitted),
    ...format.members,
    verbosity: writeVerbosity(wishes, profile, omitted),
    ...writeIdentity(wishes, profile, omitted),
    ...writePromptCache(wishes, profile, omitted),
    ...continuation(conversation, profile),
    ...streaming(conversation, profile),
  });
  return { body: Buffer.from(body), names };
}

function writeMessages({ system, turns }: Conversation, instruction: string | null, context: TurnsContext): ChatMessage[] {
  const { profile } = context;
  // At the head of the conversation a system turn is part of the leading system message anyway.
  const firstTurn = turns.findIndex(({ role }) => role !== "system");
  const head = profile.systemAnywhere ? 0 : firstTurn < 0 ? turns.length : firstTurn;
  const texts = [
    ...system.map(({ text }) => text),
    ...turns.slice(0, head).flatMap(textsOf),
    ...(instruction === null ? [] : [instruction]),
  ].filter((text) => text !== "");
  const leading: ChatMessage[] =
    texts.length === 0 ? [] : [{ role: "system", content: encodeContent(texts.map(textPart), profile.systemParts) }];
  return [...leading, ...continuing(writeTurns(turns.slice(head), context), turns, profile)];
}

function textsOf({ content }: Turn): string[] {
  return content.flatMap((block) => (block.type === "text" ? [block.text] : []));
}

/** An answer that the client began, to be continued instead of answered (profile flag `prefill`). */
function continuing(messages: ChatMessage[], turns: readonly Turn[], { prefill }: Profile): ChatMessage[] {
  const begun = turns.at(-1);
  const last = messages.at(-1);
  if (begun?.role !== "assistant" || last?.role !== "assistant") return messages;
  if (prefill === "refuse") throw noPrefill(begun);
  return prefill === "prefix" ? [...messages.slice(0, -1), { ...last, prefix: true }] : messages;
}

function continuation({ turns }: Conversation, { prefill }: Profile): Members {
  return turns.at(-1)?.role === "assistant" && prefill === "continue_final_message"
    ? { continue_final_message: true, add_generation_prompt: false }
    : {};
}

function writeSampling({ temperature, topP, topK, stop }: Wishes, profile: Profile, omitted: Omitted): Members {
  const members: { [name: string]: Encodable } = {};
  for (const [name, value] of [
    ["temperature", temperature],
    ["top_p", topP],
    ["top_k", topK],
  ] as const) {
    if (value === null) continue;
    if (profile.rejects.includes(name)) omitted.wishes.add(name);
    else members[name] = value;
  }
  return { ...members, ...writeStop(stop, profile, omitted) };
}

function writeStop({ sequences, field }: Wishes["stop"], { rejects, maxStopSequences }: Profile, omitted: Omitted): Members {
  if (sequences.length === 0) return {};
  if (rejects.includes("stop")) {
    omitted.wishes.add(field);
    return {};
  }
  if (maxStopSequences !== null && sequences.length > maxStopSequences) {
    throw fieldError(fieldPath(field), ` has ${sequences.length} entries. Send at most ${maxStopSequences} to this model.`);
  }
  return { stop: sequences };
}

/** Usage is always requested, because charges are based on it (S28), unless the server refuses to be asked. */
function streaming({ wantsStream }: Conversation, { continuousUsage, rejects }: Profile): Members {
  if (!wantsStream) return {};
  if (rejects.includes("stream_options")) return { stream: true };
  return {
    stream: true,
    stream_options: { include_usage: true, ...(continuousUsage ? { continuous_usage_stats: true } : {}) },
  };
}
