import type { Profile } from "../../../contract/profile.ts";
import { rawMember, scanElements } from "../../protocol/json/scan.ts";
import { editElements, editMembers, type MemberEdit } from "../../protocol/json/splice.ts";
import { isSealed } from "../conversation/sealed-reasoning.ts";
import { isGatewaySignature } from "../conversation/signature.ts";
import { isGatewayItem, isReasoningReference } from "../responses/own-item.ts";

/**
 * Reasoning of other servers' answers, which the gateway signed or packed in their place. A client that changes the model in the
 * middle of a conversation sends it too, and a server rejects the whole conversation for one signature that is not its own.
 */

/** For `messages`: omits blocks of thinking without a messages server's signature. */
export const leaveForeignThinking: MemberEdit = (messages) => {
  if (messages === undefined || !messages.includes('"thinking"')) return messages;
  return editElements(messages, (message) => {
    const content = rawMember(message, "content");
    if (content === undefined || rawMember(message, "role")?.toString("utf8") !== '"assistant"') return message;
    const kept = editElements(content, (block) => (isForeignThinking(block) ? undefined : block));
    if (kept === content) return message;
    // An empty turn is rejected as well.
    return kept.length <= EMPTY_LENGTH ? undefined : editMembers(message, { content: () => kept });
  });
};

/**
 * With a budget for thinking, a messages server rejects calls without the thinking before them. Do the last messages answer such
 * calls?
 */
export function answersUnthoughtCalls(messages: Buffer): boolean {
  const turns = scanElements(messages).filter((message) => textOf(message, "role") !== "system");
  const results = scanElements(rawMember(turns.at(-1), "content") ?? NOTHING);
  if (!results.some((block) => textOf(block, "type") === "tool_result")) return false;
  const [first] = scanElements(rawMember(turns.at(-2), "content") ?? NOTHING);
  return first !== undefined && !THINKING.has(textOf(first, "type"));
}

/**
 * For `input`: omits items of reasoning that the gateway made. For a server that takes no text, also those without encrypted
 * content, and references: it would look them up by their id, and answers 404 because it stored nothing. SDKs send them, because a
 * missing `store` counts as true at OpenAI.
 */
export function leaveUnknownReasoning({ reasoningHistory }: Profile): MemberEdit {
  const takesText = reasoningHistory !== "never";
  return (input) => {
    if (input === undefined || !MARKS.some((mark) => input.includes(mark))) return input;
    return editElements(input, (item) => (isUnknownReasoning(item, takesText) ? undefined : item));
  };
}

const EMPTY_LENGTH = "[]".length;
const NOTHING = Buffer.alloc(0);
const MARKS = ['"reasoning"', '"item_reference"'] as const;
const THINKING: ReadonlySet<string> = new Set(["thinking", "redacted_thinking"]);

function isForeignThinking(block: Buffer): boolean {
  if (textOf(block, "type") !== "thinking") return false;
  const signature = textOf(block, "signature");
  return signature === "" || isGatewaySignature(signature) || isSealed(signature);
}

function isUnknownReasoning(item: Buffer, takesText: boolean): boolean {
  const type = textOf(item, "type");
  if (isReasoningReference({ type, id: textOf(item, "id") })) return true;
  if (type !== "reasoning") return false;
  const encrypted = textOf(item, "encrypted_content");
  return (!takesText && encrypted === "") || isGatewayItem({ id: textOf(item, "id"), encrypted });
}

/** A member that is a string; empty if it is not one. */
function textOf(object: Buffer, name: string): string {
  const written = rawMember(object, name)?.toString("utf8");
  return written?.startsWith('"') ? String(JSON.parse(written)) : "";
}
