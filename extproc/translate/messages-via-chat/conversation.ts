import { GatewayError } from "../../../contract/errors.ts";
import { translateAssistantTurns } from "./assistant-turn.ts";
import type { ChatMessage } from "./chat-message.ts";
import type { ConversationContext, PlacedTurn } from "./conversation-context.ts";
import { translateUserTurns } from "./user-turn.ts";

/**
 * The conversation without the leading system message. Each run of turns is translated by itself, from nothing
 * but its own content, so that a longer conversation begins with the bytes of the shorter one (prompt caches).
 *
 * @throws GatewayError `invalid_request` where a tool call and its result do not meet, as messages demands it.
 */
export function translateConversation(turns: readonly PlacedTurn[], context: ConversationContext): ChatMessage[] {
  const messages: ChatMessage[] = [];
  let open: OpenCalls = { ids: new Set(), position: 0 };
  for (const run of splitRuns(turns)) {
    if (isAssistant(run[0])) {
      messages.push(translateAssistantTurns(run, context));
      open = { ids: toolUseIds(run), position: run.at(-1)?.position ?? 0 };
    } else {
      answerCalls(open, run);
      open = { ids: new Set(), position: 0 };
      messages.push(...translateUserTurns(run, context));
    }
  }
  refuseUnanswered(open);
  return messages;
}

/** Messages counts neighbours of one role as one turn; system turns stand among the user's. */
function splitRuns(turns: readonly PlacedTurn[]): PlacedTurn[][] {
  const runs: PlacedTurn[][] = [];
  for (const turn of turns) {
    const last = runs.at(-1);
    if (last !== undefined && isAssistant(last[0]) === isAssistant(turn)) last.push(turn);
    else runs.push([turn]);
  }
  return runs;
}

function isAssistant(placed: PlacedTurn | undefined): boolean {
  return placed?.turn.role === "assistant";
}

interface OpenCalls {
  ids: Set<string>;
  /** The assistant's message that made them. */
  position: number;
}

function toolUseIds(run: readonly PlacedTurn[]): Set<string> {
  return new Set(run.flatMap(({ turn }) => turn.content.flatMap((block) => (block.type === "tool_use" ? [block.id] : []))));
}

function answerCalls(open: OpenCalls, run: readonly PlacedTurn[]): void {
  const unanswered = new Set(open.ids);
  for (const { turn, position } of run) {
    for (const [index, block] of turn.content.entries()) {
      if (block.type !== "tool_result") continue;
      unanswered.delete(block.tool_use_id);
      if (open.ids.has(block.tool_use_id)) continue;
      const field = `messages[${position}].content[${index}].tool_use_id`;
      throw new GatewayError(
        "invalid_request",
        `\`${field}\` names no tool_use block of the message before. Send each tool_result right behind its tool_use.`,
        { field },
      );
    }
  }
  refuseUnanswered({ ids: unanswered, position: open.position });
}

function refuseUnanswered({ ids, position }: OpenCalls): void {
  if (ids.size === 0) return;
  const field = `messages[${position}]`;
  throw new GatewayError(
    "invalid_request",
    `\`${field}\` has ${ids.size} tool_use block(s) without a tool_result. Send one tool_result for each in the next message.`,
    { field },
  );
}
