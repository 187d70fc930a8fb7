import type { MessageOf } from "../../protocol/chat/request-message.ts";
import { isObject } from "../../protocol/json/object.ts";
import { isGatewaySignature } from "../conversation/signature.ts";
import type { RedactedThinkingBlock, ThinkingBlock } from "../conversation/turn.ts";

/** Marks entries of `reasoning_details` that hold thinking which its server signed. */
export const REASONING_FORMAT = "anthropic-claude-v1";

type Thought = ThinkingBlock | RedactedThinkingBlock;

/** The thinking that a client sends back: what is signed as it was, else the text. */
export function readReasoning({
  reasoning_details: details,
  reasoning_content: content,
  reasoning,
}: MessageOf<"assistant">): Thought[] {
  const signed = Array.isArray(details) ? details.flatMap(readDetail) : [];
  if (signed.length > 0) return signed;
  const text = [content, reasoning].find((candidate) => typeof candidate === "string" && candidate !== "");
  return typeof text === "string" ? [{ type: "thinking", text, signature: null }] : [];
}

function readDetail(detail: unknown): Thought[] {
  if (!isObject(detail) || !isOurs(detail["format"])) return [];
  const { type, text, signature, data } = detail;
  if (type === "reasoning.text" && isSigned(signature)) {
    return [{ type: "thinking", text: typeof text === "string" ? text : "", signature }];
  }
  return type === "reasoning.encrypted" && typeof data === "string" && data !== "" ? [{ type: "redacted_thinking", data }] : [];
}

function isOurs(format: unknown): boolean {
  return format === undefined || format === null || format === REASONING_FORMAT;
}

function isSigned(signature: unknown): signature is string {
  return typeof signature === "string" && signature !== "" && !isGatewaySignature(signature);
}
