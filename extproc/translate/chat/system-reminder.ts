import { systemReminder } from "../conversation/system-reminder.ts";
import type { Part } from "./parts.ts";

/** The content of a chat message that is not the assistant's. */
export interface Entry {
  role: "user" | "system";
  parts: Part[];
}

/**
 * System turns for servers that allow a system message only at the head: hoisting it there would change what the model read first
 * and break every prompt cache, so it becomes a marked text of the adjacent user message.
 * @returns the user's entries, and the texts without an adjacent message.
 */
export function foldSystemEntries(entries: readonly Entry[]): { entries: Entry[]; leftover: string[] } {
  const folded: Entry[] = [];
  let waiting: string[] = [];
  for (const { role, parts } of entries) {
    if (role === "system") {
      const reminder = wrap(parts);
      const last = folded.at(-1);
      if (last === undefined) waiting.push(reminder);
      else last.parts.push({ type: "text", text: reminder });
      continue;
    }
    folded.push({ role, parts: [...waiting.map((text) => ({ type: "text" as const, text })), ...parts] });
    waiting = [];
  }
  return { entries: folded, leftover: waiting };
}

/** The text of an entry that contains only reminders; null for any other. */
export function reminderText({ role, parts }: Entry): string | null {
  const texts = parts.flatMap((part) =>
    part.type === "text" && part.text.trimStart().startsWith("<system-reminder>") ? [part.text] : [],
  );
  return role === "user" && texts.length > 0 && texts.length === parts.length ? texts.join("\n") : null;
}

function wrap(parts: readonly Part[]): string {
  const text = parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
  return systemReminder(text);
}
