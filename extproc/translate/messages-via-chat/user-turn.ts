import { GatewayError } from "../../../contract/errors.ts";
import type { Profile } from "../../../contract/profile.ts";
import { isBookkeeping, type Block } from "../../protocol/messages/request-block.ts";
import type { ChatMessage } from "./chat-message.ts";
import type { ConversationContext, PlacedTurn } from "./conversation-context.ts";
import { noteMarks } from "./dropped-fields.ts";
import { foldSystemEntries, reminderText, type Entry } from "./system-reminder.ts";
import { encodeContent, textPart, translateDocument, translateImage, type Part } from "./parts.ts";
import { searchResultText } from "./search-result.ts";
import { isServerToolBlock, serverToolText } from "./server-tool-text.ts";
import { createToolResults, type ToolResults } from "./tool-results.ts";

/**
 * A run of turns between two answers of the assistant: first every tool result, because chat allows nothing between
 * a tool call and its results; then what the user and the system said, in its order.
 */
export function translateUserTurns(run: readonly PlacedTurn[], context: ConversationContext): ChatMessage[] {
  const { profile } = context;
  const results = createToolResults(context);
  const said = run.flatMap((placed) => readTurn(placed, results, context));
  const { entries, leftover } = profile.systemAnywhere ? { entries: said, leftover: [] } : foldSystemEntries(said);
  for (const text of leftover) if (!results.append(text)) entries.push({ role: "user", parts: [textPart(text)] });

  const asked = attach(results.attachments, entries);
  const rest = profile.remindersInToolResult ? moveReminders(asked, results) : asked;
  return [...results.messages(), ...rest.map((entry) => encodeEntry(entry, profile))];
}

function readTurn({ turn, position }: PlacedTurn, results: ToolResults, context: ConversationContext): Entry[] {
  const parts = turn.content.flatMap((block, index) => readBlock(block, { role: turn.role, position, index }, results, context));
  if (turn.role === "system") return [{ role: "system", parts }];
  // A turn of nothing but results says nothing itself; an empty one is the user's, all the same.
  return parts.length > 0 || turn.content.length === 0 ? [{ role: "user", parts }] : [];
}

interface BlockPlace {
  role: string;
  position: number;
  index: number;
}

function readBlock(block: Block, place: BlockPlace, results: ToolResults, context: ConversationContext): Part[] {
  const { role, position, index } = place;
  const field = `messages[${position}].content[${index}]`;
  noteMarks(block, context.dropped);
  if (role === "system" && block.type !== "text") throw misplaced(block, field, "the system");
  if (isServerToolBlock(block)) {
    return [textPart(serverToolText(block, (member) => context.text.block(position, index, member)).trim())];
  }
  if (isBookkeeping(block)) {
    context.dropped.add("messages.content.bookkeeping");
    return [];
  }
  switch (block.type) {
    case "text":
      return [textPart(block.text)];
    case "image":
      return [translateImage(block, field)];
    case "document":
      return translateDocument(block, field, context.profile);
    case "search_result":
      return [textPart(searchResultText(block))];
    case "tool_reference":
      return [textPart(`The tool ${block.tool_name} is available.`)];
    case "tool_result":
      results.add(block, field);
      return [];
    case "compaction":
      return block.content ? [textPart(block.content)] : [];
    case "tool_use":
    case "thinking":
    case "redacted_thinking":
      throw misplaced(block, field, "the user");
    case "container_upload":
      throw new GatewayError("invalid_request", `\`${field}\`: files in a container can't be read. Send their content.`, {
        field,
      });
  }
}

/** Images and files of tool results: in front of what the user said next, in one message behind all results. */
function attach(attachments: readonly Part[], entries: readonly Entry[]): Entry[] {
  if (attachments.length === 0) return [...entries];
  const [first, ...rest] = entries;
  if (first?.role === "user") return [{ role: "user", parts: [...attachments, ...first.parts] }, ...rest];
  return [{ role: "user", parts: [...attachments] }, ...entries];
}

/** Reminders behind tool results join the last result, where the user said nothing of his own. */
function moveReminders(entries: readonly Entry[], results: ToolResults): Entry[] {
  const reminders = entries.map(reminderText);
  if (reminders.includes(null)) return [...entries];
  return entries.filter((_, index) => !results.append(reminders[index] ?? ""));
}

function encodeEntry({ role, parts }: Entry, profile: Profile): ChatMessage {
  return { role, content: encodeContent(parts, role === "system" ? profile.systemParts : profile.contentParts) };
}

function misplaced(block: Block, field: string, role: string): GatewayError {
  return new GatewayError("invalid_request", `\`${field}\`: a block of type ${block.type} can't stand in a message of ${role}.`, {
    field,
  });
}
