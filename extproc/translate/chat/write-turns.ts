import type { Turn } from "../conversation/turn.ts";
import { writeAssistantRun } from "./assistant-turns.ts";
import type { ChatMessage } from "./chat-message.ts";
import type { TurnsContext } from "./turns-context.ts";
import { writeUserRun } from "./user-turns.ts";

/**
 * The turns without the leading system message. Each run of one side is written independently, from its own content alone, so
 * that a longer conversation begins with the bytes of the shorter one (prompt caches).
 */
export function writeTurns(turns: readonly Turn[], context: TurnsContext): ChatMessage[] {
  const messages: ChatMessage[] = [];
  for (let start = 0; start < turns.length;) {
    const isAssistant = turns[start]?.role === "assistant";
    let end = start + 1;
    while (end < turns.length && (turns[end]?.role === "assistant") === isAssistant) end += 1;
    const run = turns.slice(start, end);
    if (isAssistant) messages.push(writeAssistantRun(run, context));
    else messages.push(...writeUserRun(run, context));
    start = end;
  }
  return messages;
}
