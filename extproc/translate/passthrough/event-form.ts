import { checkBlocks } from "../../protocol/answer-bounds.ts";
import { isObject, type JsonObject } from "../../protocol/json/object.ts";
import { encodeMessagesEvent, messageStart, type BlockStart } from "../../protocol/messages/encode-event.ts";
import { within, withinObject, write, type MemberEdits } from "../../protocol/json/splice.ts";
import { NO_USAGE } from "../../../contract/usage.ts";
import { completeBlock, completeMessage, completeUsage, ownMessageId, type MessageFacts } from "./message-form.ts";
import type { EventChange } from "./stream.ts";

/**
 * What clients' libraries require of the events of a messages stream, and some servers leave out. They keep blocks by `index`: a
 * piece of a block that never began is lost, or throws.
 */
export interface EventForm {
  /** @param json with its type. @param outputTokens so far. Null for an event that has all. */
  complete(json: JsonObject, outputTokens: () => number): EventChange | null;
  /** The blocks that have not ended, by position. */
  open(): ReadonlySet<number>;
}

/** The blocks that need nothing but the text of their deltas. */
const BEGUN: ReadonlyMap<unknown, BlockStart> = new Map<unknown, BlockStart>([
  ["text_delta", { type: "text", text: "" }],
  ["thinking_delta", { type: "thinking", thinking: "", signature: "" }],
]);

/** The member of each kind of delta. */
const PIECES: ReadonlyMap<unknown, string> = new Map([
  ["text_delta", "text"],
  ["thinking_delta", "thinking"],
  ["signature_delta", "signature"],
  ["input_json_delta", "partial_json"],
]);

/** @param renamed what changes of every message; null for nothing. */
export function createEventForm(facts: MessageFacts, renamed: MemberEdits | null): EventForm {
  const startChange: EventChange | null = renamed === null ? null : { members: { message: within(renamed) } };
  /** By the server's own numbers, the latest of each. */
  const positions = new Map<unknown, number>();
  const open = new Set<number>();
  let blocks = 0;
  let hasBegun = false;

  function complete(json: JsonObject, outputTokens: () => number): EventChange | null {
    const { type } = json;
    if (type === "message_start") return start(json);
    if (!OF_A_MESSAGE.has(type)) return null;
    const lead = hasBegun ? "" : beginMessage();
    switch (type) {
      case "content_block_start":
        return withLead(lead, startBlock(json));
      case "content_block_delta":
        return extendBlock(json, lead);
      case "content_block_stop":
        return withLead(lead, stopBlock(json));
      case "message_delta":
        return withLead(lead + closeBlocks(), endMessage(json, outputTokens));
      default:
        return withLead(lead + closeBlocks(), null);
    }
  }

  function start({ message }: JsonObject): EventChange | null {
    hasBegun = true;
    const edits = completeMessage(isObject(message) ? message : {}, facts);
    return edits === null ? startChange : { members: { message: withinObject({ ...renamed, ...edits }) } };
  }

  function beginMessage(): string {
    hasBegun = true;
    return encodeMessagesEvent(messageStart({ id: ownMessageId(facts), model: facts.model, usage: NO_USAGE }));
  }

  function startBlock({ index, content_block: block }: JsonObject): EventChange | null {
    const known = positions.get(index);
    const position = beginBlock(index);
    const inside = isObject(block) ? completeBlock(block, position, facts) : null;
    // Pieces with this number belong to another block from now on.
    const isSingular = position !== index || (known !== undefined && known !== position);
    if (inside === null && !isSingular) return null;
    return { members: { ...numbered(index, position), ...(inside !== null && { content_block: within(inside) }) }, isSingular };
  }

  function beginBlock(index: unknown): number {
    const position = blocks;
    blocks += 1;
    checkBlocks(blocks);
    positions.set(index, position);
    open.add(position);
    return position;
  }

  function extendBlock({ index, delta }: JsonObject, lead: string): EventChange | null {
    const kind = isObject(delta) ? delta["type"] : undefined;
    const missing = BEGUN.get(kind);
    let position = positions.get(index);
    let before = lead;
    if (missing !== undefined && (position === undefined || !open.has(position))) {
      before += closeBlocks();
      position = beginBlock(index);
      before += encodeMessagesEvent({ type: "content_block_start", index: position, content_block: missing });
    }
    const edits = { ...(position !== undefined && numbered(index, position)), ...completeDelta(delta, kind) };
    return withLead(before, Object.keys(edits).length === 0 ? null : { members: edits });
  }

  function stopBlock({ index }: JsonObject): EventChange | null {
    const position = positions.get(index);
    if (position === undefined) return null;
    open.delete(position);
    return position === index ? null : { members: numbered(index, position) };
  }

  /** Some servers never end a block. */
  function closeBlocks(): string {
    const closed = [...open].map((index) => encodeMessagesEvent({ type: "content_block_stop", index }));
    open.clear();
    return closed.join("");
  }

  return { complete, open: () => open };
}

const OF_A_MESSAGE: ReadonlySet<unknown> = new Set([
  "content_block_start",
  "content_block_delta",
  "content_block_stop",
  "message_delta",
  "message_stop",
]);

function withLead(missing: string, change: EventChange | null): EventChange | null {
  return missing === "" ? change : { members: change?.members ?? {}, missing, isSingular: true };
}

function numbered(index: unknown, position: number): MemberEdits {
  return index === position ? {} : { index: write(position) };
}

function completeDelta(delta: unknown, kind: unknown): MemberEdits | null {
  const name = PIECES.get(kind);
  if (name === undefined || !isObject(delta)) return null;
  const piece = delta[name];
  if (typeof piece === "string") return null;
  return { delta: within({ [name]: (written) => (isObject(piece) ? asText(written) : EMPTY_TEXT) }) };
}

const EMPTY_TEXT = Buffer.from('""');

function asText(written: Buffer | undefined): Buffer {
  return written === undefined ? EMPTY_TEXT : Buffer.from(JSON.stringify(written.toString("utf8")));
}

function endMessage({ delta, usage }: JsonObject, outputTokens: () => number): EventChange | null {
  const counts = completeUsage(usage, { output_tokens: outputTokens });
  if (isObject(delta) && counts === null) return null;
  return { members: { ...(!isObject(delta) && { delta: write(NO_STOP) }), ...(counts !== null && { usage: counts }) } };
}

const NO_STOP = { stop_reason: null, stop_sequence: null };
