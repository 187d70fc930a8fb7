import type { MessageOf } from "../../protocol/chat/request-message.ts";
import { isObject } from "../../protocol/json/object.ts";
import { isGatewaySignature } from "../conversation/signature.ts";
import { readPosition, type PositionedThought } from "./thought-positions.ts";

/** Marks entries of `reasoning_details` that hold thinking which its server signed. */
export const REASONING_FORMAT = "anthropic-claude-v1";

/** The thinking that a client sends back: signed thinking unchanged, otherwise its text. */
export function readReasoning({
  reasoning_details: details,
  reasoning_content: content,
  reasoning,
}: MessageOf<"assistant">): PositionedThought[] {
  const signed = Array.isArray(details) ? details.flatMap(readDetail) : [];
  if (signed.length > 0) return signed;
  const text = [content, reasoning].find((candidate) => typeof candidate === "string" && candidate !== "");
  return typeof text === "string" ? [{ block: { type: "thinking", text, signature: null }, after: readPosition(null) }] : [];
}

function readDetail(detail: unknown): PositionedThought[] {
  if (!isObject(detail) || !isOurs(detail["format"])) return [];
  const { type, text, signature, data } = detail;
  const after = readPosition(detail["id"]);
  if (type === "reasoning.text" && isSigned(signature))
    return [{ block: { type: "thinking", text: typeof text === "string" ? text : "", signature }, after }];
  return type === "reasoning.encrypted" && typeof data === "string" && data !== ""
    ? [{ block: { type: "redacted_thinking", data }, after }]
    : [];
}

function isOurs(format: unknown): boolean {
  return format === undefined || format === null || format === REASONING_FORMAT;
}

function isSigned(signature: unknown): signature is string {
  return typeof signature === "string" && signature !== "" && !isGatewaySignature(signature);
}
