import { GatewayError } from "../../../contract/errors.ts";
import type { Profile } from "../../../contract/profile.ts";
import { isBookkeeping, type Block, type BlockOf } from "../../protocol/messages/request-block.ts";
import type { ChatMessage, ChatToolCall } from "./chat-message.ts";
import { upstreamToolId, type ConversationContext, type PlacedTurn } from "./conversation-context.ts";
import { noteMarks } from "./dropped-fields.ts";
import { isServerToolBlock, serverToolText } from "./server-tool-text.ts";
import { unwrapRawArguments } from "./tool-arguments.ts";

/** A run of the assistant's turns as one message: thinking, text and tool calls each in their own order. */
export function translateAssistantTurns(run: readonly PlacedTurn[], context: ConversationContext): ChatMessage {
  let text = "";
  let thinking = "";
  const calls: ChatToolCall[] = [];

  for (const { turn, position } of run) {
    for (const [index, block] of turn.content.entries()) {
      noteMarks(block, context.dropped);
      if (isServerToolBlock(block)) {
        text += serverToolText(block, (member) => context.text.block(position, index, member));
        continue;
      }
      if (isBookkeeping(block)) {
        context.dropped.add("messages.content.bookkeeping");
        continue;
      }
      switch (block.type) {
        case "text":
          text += block.text;
          break;
        case "thinking":
          // The text serves any model, whoever signed it; the signature serves only its maker.
          thinking += block.thinking;
          break;
        case "redacted_thinking":
          context.dropped.add("messages.content.redacted_thinking");
          break;
        case "tool_use":
          calls.push(translateToolUse(block, argumentsText(block, { position, index }, context), context));
          break;
        case "compaction":
          text += block.content ?? "";
          break;
        case "image":
        case "document":
        case "search_result":
        case "tool_reference":
        case "tool_result":
        case "container_upload":
          throw misplaced(block, position, index);
      }
    }
  }

  return {
    role: "assistant",
    content: text === "" && calls.length > 0 ? null : text,
    ...reasoning(thinking, calls.length > 0, context),
    ...(calls.length > 0 ? { tool_calls: calls } : {}),
  };
}

function translateToolUse(block: BlockOf<"tool_use">, text: string, { profile, names }: ConversationContext): ChatToolCall {
  return {
    id: upstreamToolId(block.id, profile),
    type: "function",
    function: { name: names.toUpstream(block.name), arguments: text },
  };
}

/** The input as the client wrote it: its numbers keep their digits, and its bytes stay the same in every turn. */
function argumentsText(
  block: BlockOf<"tool_use">,
  { position, index }: { position: number; index: number },
  { text, embedded }: ConversationContext,
): string {
  return unwrapRawArguments(block.input, embedded) ?? text.block(position, index, "input")?.text ?? "{}";
}

function reasoning(
  thinking: string,
  hasCalls: boolean,
  { profile, dropped }: ConversationContext,
): Partial<Record<"reasoning_content" | "reasoning", string>> {
  if (profile.reasoningField !== "none" && takesReasoning(profile, thinking, hasCalls))
    return { [profile.reasoningField]: thinking };
  if (thinking !== "") dropped.add("messages.content.thinking");
  return {};
}

function takesReasoning({ reasoningHistory }: Profile, thinking: string, hasCalls: boolean): boolean {
  switch (reasoningHistory) {
    case "always":
      return thinking !== "";
    // Such servers refuse a turn with tool calls that lacks the member, even where nothing was thought.
    case "tool-turns":
      return hasCalls;
    case "never":
      return false;
  }
}

function misplaced(block: Block, position: number, index: number): GatewayError {
  const field = `messages[${position}].content[${index}]`;
  return new GatewayError(
    "invalid_request",
    `\`${field}\`: a block of type ${block.type} can't stand in a message of the assistant.`,
    { field },
  );
}
