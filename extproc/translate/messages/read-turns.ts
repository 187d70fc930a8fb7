import type { EmbeddedJson } from "../../protocol/json/bounds.ts";
import { isGiven, isObject } from "../../protocol/json/object.ts";
import { RawJson } from "../../protocol/json/raw.ts";
import {
  isBookkeeping,
  type BookkeepingBlock,
  type Block as WireBlock,
  type BlockOf,
  type ResultBlock as WireResultBlock,
  type ToolResultBlock as WireToolResult,
} from "../../protocol/messages/request-block.ts";
import type { Turn as WireTurn } from "../../protocol/messages/request.ts";
import { unwrapRawArguments } from "../conversation/raw-arguments.ts";
import type { Omitted } from "../conversation/conversation.ts";
import { below, fieldError, fieldPath, type FieldPath } from "../conversation/field-path.ts";
import { originalToolId } from "../conversation/ids.ts";
import { isSealed } from "../conversation/sealed-reasoning.ts";
import type { Block, ResultBlock, TextBlock, ToolInput, Turn } from "../conversation/turn.ts";
import { checkCalls } from "./call-pairs.ts";
import { readDocument, readImage } from "./read-media.ts";
import type { RequestText } from "./request-text.ts";
import { searchResultText } from "./search-result.ts";
import { isServerToolBlock, serverToolText } from "./server-tool-text.ts";

export interface TurnsContext {
  text: RequestText;
  embedded: EmbeddedJson;
  omitted: Omitted;
}

/** A block between those that are read. */
interface BlockPosition {
  at: FieldPath;
  turn: number;
  index: number;
}

/** @throws GatewayError `invalid_request` for a block in the wrong place, or one that only the messages service itself can read. */
export function readTurns(turns: readonly WireTurn[], context: TurnsContext): Turn[] {
  const messages = fieldPath("messages");
  checkCalls(turns, messages);
  const lastUser = turns.findLastIndex(({ role }) => role !== "assistant" && role !== "system");
  return turns.flatMap(({ role, content, clear_at: clearAt, output_config: config }, turn): Turn[] => {
    if (role === "system" && isGiven(config)) context.omitted.content.add("messages.output_config");
    const isCleared = clearAt === "next_user_message" && turn < lastUser;
    if (role === "system" && isCleared) return [];
    const at = below(messages, turn);
    const contentAt = below(at, "content");
    const read = role === "assistant" ? readAssistantBlock : role === "system" ? readSystemBlock : readUserBlock;
    const blocks = content.flatMap((block, index) => {
      noteMarks(block, context.omitted);
      return read(block, { at: below(contentAt, index), turn, index }, context);
    });
    if (role === "system" && blocks.length === 0) return [];
    // An empty turn is still a turn.
    const nonEmpty = content.length === 0 ? [textBlock("", contentAt)] : blocks;
    return [{ role: role === "assistant" || role === "system" ? role : "user", content: nonEmpty, at }];
  });
}

function readAssistantBlock(block: WireBlock, { at, turn, index }: BlockPosition, context: TurnsContext): Block[] {
  if (isServerToolBlock(block)) {
    return [
      textBlock(
        serverToolText(block, (member) => context.text.block(turn, index, member)),
        at,
      ),
    ];
  }
  if (isBookkeeping(block)) return leaveBookkeeping(block, at, context);
  switch (block.type) {
    case "text":
      return [textBlock(block.text, at)];
    case "thinking":
      // Messages' own signatures are returned only in the passthrough.
      return [{ type: "thinking", text: block.thinking, signature: sealedOrNull(block.signature) }];
    case "redacted_thinking":
      return [{ type: "redacted_thinking", data: block.data }];
    case "tool_use": {
      const input = readInput(block, { at, turn, index }, context);
      return [{ type: "tool_call", id: originalToolId(block.id), name: block.name, input, cache: null, at }];
    }
    case "compaction":
      return [textBlock(block.content ?? "", at)];
    case "image":
    case "document":
    case "search_result":
    case "tool_reference":
    case "tool_result":
    case "container_upload":
      throw misplaced(block, at, "an assistant");
  }
}

function readSystemBlock(block: WireBlock, { at }: BlockPosition, context: TurnsContext): Block[] {
  if (isBookkeeping(block)) return leaveBookkeeping(block, at, context);
  if (block.type !== "text") throw misplaced(block, at, "a system");
  return [textBlock(block.text, at)];
}

function readUserBlock(block: WireBlock, { at, turn, index }: BlockPosition, context: TurnsContext): Block[] {
  if (isServerToolBlock(block)) {
    return [textBlock(serverToolText(block, (member) => context.text.block(turn, index, member)).trim(), at)];
  }
  if (isBookkeeping(block)) return leaveBookkeeping(block, at, context);
  switch (block.type) {
    case "text":
    case "image":
    case "document":
    case "search_result":
    case "tool_reference":
      return [readShown(block, at)];
    case "tool_result":
      return [readResult(block, at, context)];
    case "compaction":
      return block.content ? [textBlock(block.content, at)] : [];
    case "tool_use":
    case "thinking":
    case "redacted_thinking":
      throw misplaced(block, at, "a user");
    case "container_upload":
      throw fieldError(at, ": files in a container can't be read. Send their content.");
  }
}

function readResult(block: WireToolResult, at: FieldPath, { omitted }: TurnsContext): Block {
  const contentAt = below(at, "content");
  const content = block.content.map((inner, index) => {
    noteMarks(inner, omitted);
    return readShown(inner, below(contentAt, index));
  });
  return {
    type: "tool_result",
    id: originalToolId(block.tool_use_id),
    content,
    isError: block.is_error === true,
    cache: null,
    at,
  };
}

/** Blocks that are allowed in a result as well. */
function readShown(block: WireResultBlock, at: FieldPath): ResultBlock {
  switch (block.type) {
    case "text":
      return textBlock(block.text, at);
    case "image":
      return readImage(block, at);
    case "document":
      return readDocument(block, at);
    case "search_result":
      return textBlock(searchResultText(block), at);
    case "tool_reference":
      return textBlock(`The tool ${block.tool_name} is available.`, at);
  }
}

/** The input as the client wrote it: its numbers keep their digits, and its bytes are the same in every turn. */
function readInput(block: BlockOf<"tool_use">, { turn, index }: BlockPosition, { text, embedded }: TurnsContext): ToolInput {
  const raw = unwrapRawArguments(block.input, embedded);
  if (raw !== null) return { kind: "raw", text: raw };
  return { kind: "json", json: text.block(turn, index, "input") ?? new RawJson("{}") };
}

function sealedOrNull(signature: string | null | undefined): string | null {
  return signature && isSealed(signature) ? signature : null;
}

/** @throws GatewayError `invalid_request` for a tool that the request does not have elsewhere. */
function leaveBookkeeping({ tool }: BookkeepingBlock, at: FieldPath, { omitted }: TurnsContext): Block[] {
  if (isObject(tool) && tool["definition"] !== undefined)
    throw fieldError(at, ": this model's server takes no tools inside messages. Move the definition into `tools`.");
  omitted.content.add("messages.content.bookkeeping");
  return [];
}

/** Marks that a block of any type may carry, and only the messages service uses. */
function noteMarks({ cache_control: mark, citations }: { cache_control?: unknown; citations?: unknown }, omitted: Omitted): void {
  if (mark !== undefined && mark !== null) omitted.content.add("messages.content.cache_control");
  const isWish = isObject(citations) ? citations["enabled"] !== false : Array.isArray(citations) && citations.length > 0;
  if (isWish) omitted.content.add("messages.content.citations");
}

function textBlock(text: string, at: FieldPath): TextBlock {
  return { type: "text", text, cache: null, at };
}

function misplaced(block: WireBlock, at: FieldPath, role: string): Error {
  return fieldError(at, `: a block of type ${block.type} is not allowed in ${role} message.`);
}
