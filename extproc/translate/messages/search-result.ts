import type { BlockOf } from "../../protocol/messages/request-block.ts";

/** A search result that the client found itself, as text with its title and source. */
export function searchResultText({ title, source, content }: BlockOf<"search_result">): string {
  const text = content.map((block) => block.text).join("\n");
  return `<search_result title=${JSON.stringify(title)} source=${JSON.stringify(source)}>\n${text}\n</search_result>`;
}
