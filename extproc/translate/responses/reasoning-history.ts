import type { InputItemOf } from "../../protocol/responses/request-item.ts";
import { REASONING_FORMAT } from "../chat-via-messages/reasoning-history.ts";
import { isGatewaySignature } from "../conversation/signature.ts";
import type { InputOptions } from "./input.ts";
import { decodeThought, type Thought } from "./thought.ts";

/** One entry of chat's `reasoning_details`, which becomes a block of thinking. */
export type ReasoningDetail =
  | { type: "reasoning.text"; text: string; signature: string; format: string }
  | { type: "reasoning.encrypted"; data: string; format: string };

/** Chat servers take the text, whoever thought it, and know no signatures; the next step asks for one all the same. */
const UNSIGNED = "unsigned";

/** The reasoning that a client sends back, as far as this upstream can take it. */
export function translateReasoning(
  item: InputItemOf<"reasoning">,
  { upstream, model, dropped }: InputOptions,
): ReasoningDetail[] {
  const thought = item.encrypted_content ? decodeThought(item.encrypted_content) : null;
  if (item.encrypted_content && thought === null) dropped.add("input[].encrypted_content");
  const detail = upstream === "chat" ? asText(item, thought) : asSigned(thought, model);
  if (detail !== null) return [detail];
  if (thought !== null || readText(item) !== "") dropped.add("input[].reasoning");
  return [];
}

function asText(item: InputItemOf<"reasoning">, thought: Thought | null): ReasoningDetail | null {
  const text = thought?.thinking ?? readText(item);
  return text === "" ? null : { type: "reasoning.text", text, signature: UNSIGNED, format: REASONING_FORMAT };
}

/** A messages server refuses the whole conversation over one signature that is not its own. */
function asSigned(thought: Thought | null, model: string): ReasoningDetail | null {
  if (thought === null || thought.model !== model) return null;
  if (thought.redacted !== undefined) return { type: "reasoning.encrypted", data: thought.redacted, format: REASONING_FORMAT };
  if (!thought.signature || isGatewaySignature(thought.signature)) return null;
  return { type: "reasoning.text", text: thought.thinking ?? "", signature: thought.signature, format: REASONING_FORMAT };
}

function readText({ summary, content }: InputItemOf<"reasoning">): string {
  const parts = content && content.length > 0 ? content : (summary ?? []);
  return parts.map(({ text }) => text).join("\n\n");
}
