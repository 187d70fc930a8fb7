import type { InputItemOf } from "../../protocol/responses/request-item.ts";
import { isGatewaySignature } from "../conversation/signature.ts";
import type { RedactedThinkingBlock, ThinkingBlock } from "../conversation/turn.ts";
import type { InputContext } from "./read-content.ts";
import { decodeThought, type Thought } from "./thought.ts";

/** The reasoning that a client sends back: signed if this Model's own server signed it, otherwise its text. */
export function readReasoning(
  item: InputItemOf<"reasoning">,
  { model, omitted }: InputContext,
): (ThinkingBlock | RedactedThinkingBlock)[] {
  const thought = item.encrypted_content ? decodeThought(item.encrypted_content) : null;
  if (item.encrypted_content && thought === null) omitted.content.add("input[].encrypted_content");
  const text = thought?.thinking ?? readText(item);
  if (thought?.model === model && thought.redacted !== undefined) return [{ type: "redacted_thinking", data: thought.redacted }];
  const signature = signatureFor(thought, model);
  if (text !== "" || signature !== null) return [{ type: "thinking", text, signature }];
  // Of another model, and unreadable.
  if (thought !== null) omitted.content.add("input[].reasoning");
  return [];
}

/** A server rejects the whole conversation for one signature that is not its own. */
function signatureFor(thought: Thought | null, model: string): string | null {
  if (thought === null || thought.model !== model) return null;
  return !thought.signature || isGatewaySignature(thought.signature) ? null : thought.signature;
}

function readText({ summary, content }: InputItemOf<"reasoning">): string {
  const parts = content && content.length > 0 ? content : (summary ?? []);
  return parts.map(({ text }) => text).join("\n\n");
}
