import type { Profile } from "../../../contract/profile.ts";
import { fieldError } from "../conversation/field-path.ts";
import type { Block, Turn } from "../conversation/turn.ts";
import type { ChatMessage } from "./chat-message.ts";
import { encodeContent, textPart, writeDocument, writeImage, type Part } from "./parts.ts";
import { foldSystemEntries, reminderText, type Entry } from "./system-reminder.ts";
import { createToolResults, type ToolResults } from "./tool-results.ts";
import type { TurnsContext } from "./turns-context.ts";

/**
 * A run of turns between two assistant answers: first every tool result, because chat allows nothing between a tool call and its
 * results; then the user's and the system's texts, in order.
 */
export function writeUserRun(run: readonly Turn[], { profile }: TurnsContext): ChatMessage[] {
  const results = createToolResults(profile);
  const written = run.flatMap((turn) => writeTurn(turn, results, profile));
  const { entries, leftover } = profile.systemAnywhere ? { entries: written, leftover: [] } : foldSystemEntries(written);
  for (const text of leftover) if (!results.append(text)) entries.push({ role: "user", parts: [textPart(text)] });

  const asked = attach(results.attachments, entries);
  const rest = profile.remindersInToolResult ? moveReminders(asked, results) : asked;
  return [...results.messages(), ...rest.map((entry) => encodeEntry(entry, profile))];
}

function writeTurn({ role, content }: Turn, results: ToolResults, profile: Profile): Entry[] {
  const parts = content.flatMap((block) => writeBlock(block, results, profile));
  if (role === "system") return [{ role, parts }];
  // A turn of results alone has no text itself.
  return parts.length > 0 ? [{ role: "user", parts }] : [];
}

function writeBlock(block: Block, results: ToolResults, profile: Profile): Part[] {
  switch (block.type) {
    case "text":
      return [textPart(block.text)];
    case "image":
      return [writeImage(block)];
    case "document":
      return writeDocument(block, profile);
    case "tool_result":
      results.add(block);
      return [];
    case "tool_call":
      throw fieldError(block.at, " is not allowed in a user message.");
    case "thinking":
    case "redacted_thinking":
      return [];
  }
}

/** Images and files of tool results: before the user's next text, in one message after all results. */
function attach(attachments: readonly Part[], entries: readonly Entry[]): Entry[] {
  if (attachments.length === 0) return [...entries];
  const [first, ...rest] = entries;
  if (first?.role === "user") return [{ role: "user", parts: [...attachments, ...first.parts] }, ...rest];
  return [{ role: "user", parts: [...attachments] }, ...entries];
}

/** Reminders after tool results join the last result, if the user wrote nothing. */
function moveReminders(entries: readonly Entry[], results: ToolResults): Entry[] {
  const reminders = entries.map(reminderText);
  if (reminders.includes(null)) return [...entries];
  return entries.filter((_, index) => !results.append(reminders[index] ?? ""));
}

function encodeEntry({ role, parts }: Entry, profile: Profile): ChatMessage {
  return { role, content: encodeContent(parts, role === "system" ? profile.systemParts : profile.contentParts) };
}
