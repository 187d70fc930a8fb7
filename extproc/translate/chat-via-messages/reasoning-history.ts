import { isObject } from "../../protocol/json/object.ts";
import { isGatewaySignature } from "../conversation/signature.ts";
import type { Block } from "./block.ts";

/** Marks blocks of thinking that a messages upstream signed. */
export const REASONING_FORMAT = "anthropic-claude-v1";

/**
 * The thinking that a client sends back in `reasoning_details`. Only what a messages upstream signed can go to
 * one: it refuses the whole conversation over one signature that is not its own.
 */
export function translateReasoningDetails(details: unknown): Block[] {
  if (!Array.isArray(details)) return [];
  return details.flatMap((detail): Block[] => {
    if (!isObject(detail) || !isOurs(detail["format"])) return [];
    const { type, text, signature, data } = detail;
    if (type === "reasoning.text" && isSigned(signature)) {
      return [{ type: "thinking", thinking: typeof text === "string" ? text : "", signature }];
    }
    if (type === "reasoning.encrypted" && typeof data === "string" && data !== "") return [{ type: "redacted_thinking", data }];
    return [];
  });
}

function isOurs(format: unknown): boolean {
  return format === undefined || format === null || format === REASONING_FORMAT;
}

function isSigned(signature: unknown): signature is string {
  return typeof signature === "string" && signature !== "" && !isGatewaySignature(signature);
}
