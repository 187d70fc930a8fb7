import { isObject } from "../../protocol/json/object.ts";
import type { ServerToolResultBlock, ServerToolUseBlock } from "../../protocol/messages/request-block.ts";

/**
 * What the messages protocol's own tools did in earlier turns, as text: a chat model can't call them, but must know
 * what was found.
 */

/** @param input the call's input as JSON text. */
export function serverToolUseText(block: ServerToolUseBlock, input: string): string {
  return `\n[${block.name} was called with ${input}]\n`;
}

/** @param content the result's content as JSON text, for results that are no list of pages. */
export function serverToolResultText(block: ServerToolResultBlock, content: string): string {
  const tool = block.type.replace(/_tool_result$/, "");
  const pages = Array.isArray(block.content) ? block.content.filter(isObject) : [];
  const lines = pages.flatMap((page) => pageLine(page));
  return lines.length > 0 ? `\n[${tool} found:\n${lines.join("\n")}]\n` : `\n[${tool} answered ${content}]\n`;
}

function pageLine({ title, url, text }: Readonly<Record<string, unknown>>): string[] {
  if (typeof url === "string") return [typeof title === "string" && title !== "" ? `- ${title} (${url})` : `- ${url}`];
  return typeof text === "string" ? [text] : [];
}
