import type { Profile } from "../../../contract/profile.ts";
import { fieldError } from "../conversation/field-path.ts";
import { writeToolId } from "../conversation/ids.ts";
import { openSealed } from "../conversation/sealed-reasoning.ts";
import { argumentsText } from "../conversation/tool-input.ts";
import type { ThinkingBlock, ToolCallBlock, Turn } from "../conversation/turn.ts";
import type { ChatMessage, ChatToolCall } from "./chat-message.ts";
import type { TurnsContext } from "./turns-context.ts";

/** A run of the assistant's turns as one message: thinking, text and tool calls each in their own order. */
export function writeAssistantRun(run: readonly Turn[], context: TurnsContext): ChatMessage {
  let text = "";
  let thinking = "";
  const calls: ChatToolCall[] = [];
  /** Of the next call. */
  let signature: string | null = null;
  for (const { content } of run) {
    for (const block of content) {
      switch (block.type) {
        case "text":
          text += block.text;
          break;
        case "thinking":
          // The text is valid for any model, whoever signed it; the signature is valid only for its maker.
          thinking += block.text;
          signature = callSignature(block, context) ?? signature;
          break;
        case "redacted_thinking":
          context.omitted.content.add(context.words.redactedThinking);
          break;
        case "tool_call":
          calls.push({ ...writeCall(block, context), ...signed(signature) });
          signature = null;
          break;
        case "image":
        case "document":
        case "tool_result":
          throw fieldError(block.at, " is not allowed in an assistant message. Move it to a user message.");
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

function writeCall({ id, name, input }: ToolCallBlock, { profile, names }: TurnsContext): ChatToolCall {
  return {
    id: writeToolId(id, profile),
    type: "function",
    function: { name: names.toUpstream(name), arguments: argumentsText(input) },
  };
}

/** Null unless this Model's own server signed a call with it. */
function callSignature({ signature }: ThinkingBlock, { model }: TurnsContext): string | null {
  const sealed = signature === null ? null : openSealed(signature);
  return sealed?.kind === "call" && sealed.model === model ? sealed.encrypted : null;
}

function signed(signature: string | null): Pick<ChatToolCall, "extra_content"> {
  return signature === null ? {} : { extra_content: { google: { thought_signature: signature } } };
}

function reasoning(
  thinking: string,
  hasCalls: boolean,
  { profile, words, omitted }: TurnsContext,
): Partial<Record<"reasoning_content" | "reasoning", string>> {
  if (profile.reasoningField !== "none" && takesReasoning(profile, thinking, hasCalls))
    return { [profile.reasoningField]: thinking };
  if (thinking !== "") omitted.content.add(words.thinking);
  return {};
}

function takesReasoning({ reasoningHistory }: Profile, thinking: string, hasCalls: boolean): boolean {
  switch (reasoningHistory) {
    case "always":
      return thinking !== "";
    // Such servers reject a turn with tool calls that lacks the member, even if there was no thinking.
    case "tool-turns":
      return hasCalls;
    case "never":
      return false;
  }
}
