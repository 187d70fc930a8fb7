import { isObject } from "../../protocol/json/object.ts";
import type { RawJson } from "../../protocol/json/raw.ts";
import {
  isServerToolResult,
  isServerToolUse,
  type Block,
  type ServerToolResultBlock,
  type ServerToolUseBlock,
} from "../../protocol/messages/request-block.ts";
import { readableJson } from "../conversation/readable-json.ts";

export type ServerToolBlock = ServerToolUseBlock | ServerToolResultBlock;

export function isServerToolBlock(block: Block): block is ServerToolBlock {
  return isServerToolUse(block) || isServerToolResult(block);
}

/**
 * Calls of the messages protocol's own tools in earlier turns, as text: a chat model can't call them, but must know the results.
 * @param written a member of the block as JSON text.
 */
export function serverToolText(block: ServerToolBlock, written: (member: string) => RawJson | undefined): string {
  return isServerToolUse(block)
    ? `\n[${block.name} was called with ${written("input")?.text ?? "{}"}]\n`
    : resultText(block, written("content")?.text ?? "null");
}

/** @param content the result's content as JSON text, for results that are not a list of pages. */
function resultText(block: ServerToolResultBlock, content: string): string {
  const tool = block.type.replace(/_tool_result$/, "");
  const pages = Array.isArray(block.content) ? block.content.filter(isObject) : [];
  const lines = pages.flatMap((page) => pageLine(page));
  return lines.length > 0 ? `\n[${tool} found:\n${lines.join("\n")}]\n` : `\n[${tool} answered ${readableJson(content)}]\n`;
}

function pageLine({ title, url, text }: Readonly<Record<string, unknown>>): string[] {
  if (typeof url === "string") return [typeof title === "string" && title !== "" ? `- ${title} (${url})` : `- ${url}`];
  return typeof text === "string" ? [text] : [];
}
