import type { Usage } from "../../../contract/usage.ts";
import { isCount } from "../../protocol/json/count.ts";
import { isGiven, isObject, textOf, type JsonObject } from "../../protocol/json/object.ts";
import { withinElements, withinObject, write, writeAll, type MemberEdit, type MemberEdits } from "../../protocol/json/splice.ts";
import { inputText } from "../../protocol/messages/answer-block.ts";
import { encodeMessagesUsage } from "../../protocol/messages/encode-usage.ts";
import { createCallIds, type CallIds } from "../conversation/call-ids.ts";
import { messageId } from "../conversation/ids.ts";
import { chargedMembers } from "./charged-usage.ts";

/** In place of what a server leaves out. */
export interface MessageFacts {
  requestId: string;
  /** The name that the client requested. */
  model: string;
}

/**
 * What clients' libraries require of a message, or of the start of its stream, and some servers leave out: they add to its content
 * and its usage without looking.
 * @param charged what a complete message costs; null for one that begins.
 * @returns null for one that has all.
 */
export function completeMessage(message: JsonObject, facts: MessageFacts, charged: Usage | null): MemberEdits | null {
  const { content, usage } = message;
  const blocks = Array.isArray(content) ? completeBlocks(content, facts) : write([]);
  const counts = writeUsage(usage, completeCounts(usage, charged));
  const head = completeHead(message, facts);
  if (blocks === null && counts === null && head === null) return null;
  return { ...head, ...(blocks !== null && { content: blocks }), ...(counts !== null && { usage: counts }) };
}

/**
 * The reason for the end of a complete answer, which clients wait for before they run tools.
 * @returns null for one that has it.
 */
export function completeStop({ content, stop_reason: reason }: JsonObject): MemberEdits | null {
  const blocks: readonly unknown[] = Array.isArray(content) ? content : [];
  const hasCalls = blocks.some((block) => isObject(block) && block["type"] === "tool_use");
  return isReason(reason) && !hidesCalls(reason, hasCalls) ? null : writeAll(unsaidStop(hasCalls));
}

/** Some servers end every message in the same way. */
export function hidesCalls(reason: unknown, hasCalls: boolean): boolean {
  return hasCalls && reason === "end_turn";
}

/** Some servers write an empty text for none. */
export function isReason(reason: unknown): boolean {
  return isGiven(reason) && reason !== "";
}

export function unsaidStop(hasCalls: boolean): { stop_reason: string; stop_sequence: null } {
  return { stop_reason: hasCalls ? "tool_use" : "end_turn", stop_sequence: null };
}

/** Computed where one is missing. */
export type Counts = Readonly<Record<string, () => number>>;
const NO_TOKENS: Counts = { input_tokens: () => 0, output_tokens: () => 0 };

function completeCounts(usage: unknown, charged: Usage | null): JsonObject {
  const members = charged === null ? null : chargedCounts(isObject(usage) ? usage : {}, charged);
  return members ?? missingMembers(usage, NO_TOKENS);
}

/**
 * The counts that differ from what is charged; null for none, and for a server that lists the steps it took on its own, which clients
 * add up. @param usage as the client knows it.
 */
export function chargedCounts(usage: JsonObject, charged: Usage): JsonObject | null {
  const { iterations } = usage;
  if (Array.isArray(iterations) && iterations.length > 0) return null;
  const details = { output_tokens_details: { thinking_tokens: charged.reasoningTokens } };
  const counts = Object.entries({ ...details, ...encodeMessagesUsage(charged) });
  // Servers without a cache or reasoning leave these out.
  const given = counts.filter(([name, tokens]) => tokens !== 0 || name in NO_TOKENS || isGiven(usage[name]));
  return chargedMembers(usage, Object.fromEntries(given));
}

/** @returns the counts that it lacks. */
export function missingMembers(usage: unknown, counts: Counts): JsonObject {
  const known = isObject(usage) ? usage : {};
  const missing = Object.entries(counts).filter(([name]) => !isCount(known[name]));
  return Object.fromEntries(missing.map(([name, counted]) => [name, counted()]));
}

/** @returns null for no members. */
export function writeUsage(usage: unknown, members: JsonObject): MemberEdit | null {
  if (Object.keys(members).length === 0) return null;
  return isGiven(usage) && !isObject(usage) ? write(members) : withinObject(writeAll(members));
}

/** The ids of a message's calls: clients cannot answer two that share one. */
export function createMessageCallIds({ requestId }: Pick<MessageFacts, "requestId">): CallIds {
  return createCallIds(requestId, "toolu_");
}

/** A content block, or the start of one. @param position in its message. */
export function completeBlock(block: JsonObject, position: number, callId: CallIds): MemberEdits | null {
  switch (block["type"]) {
    case "text":
      return typeof block["text"] === "string" ? null : { text: write("") };
    case "thinking":
      return typeof block["thinking"] === "string" ? null : { thinking: write("") };
    case "tool_use": {
      const { id: given, input } = block;
      const id = callId(textOf(given), position);
      if (id === given && isObject(input)) return null;
      return { ...(id !== given && { id: write(id) }), ...(!isObject(input) && { input: asObject }) };
    }
    default:
      return null;
  }
}

function completeBlocks(content: readonly unknown[], facts: MessageFacts): MemberEdit | null {
  const callId = createMessageCallIds(facts);
  const edits = content.map((block, position) => (isObject(block) ? completeBlock(block, position, callId) : null));
  return edits.every((edit) => edit === null) ? null : withinElements(edits);
}

function completeHead(message: JsonObject, facts: MessageFacts): MemberEdits | null {
  if (HEAD.every((name) => isGiven(message[name]))) return null;
  const missing = { id: ownMessageId(facts), type: "message", role: "assistant", model: facts.model };
  return Object.fromEntries(HEAD.flatMap((name) => (isGiven(message[name]) ? [] : [[name, write(missing[name])]])));
}

/** In place of an id that the server leaves out. */
export function ownMessageId({ requestId }: Pick<MessageFacts, "requestId">): string {
  return messageId("", requestId);
}

const HEAD = ["id", "type", "role", "model"] as const;

function asObject(written: Buffer | undefined): Buffer {
  return Buffer.from(inputText(written));
}
