import { readContent } from "../../protocol/chat/answer-part.ts";
import { isGiven, isObject, type JsonObject } from "../../protocol/json/object.ts";
import { write, type MemberEdits } from "../../protocol/json/splice.ts";

/**
 * The text of a message, or of a piece of one, whose content is a list of parts, as from Mistral's reasoning models. In this
 * protocol an answer's content is text: of parts, OpenAI's SDK for JavaScript makes "[object Object]", and others lose them. There
 * is no place for references, Mistral's citations of the client's own documents.
 * @returns null for text, and for a list of other parts, which has no such form.
 */
export function joinParts(message: JsonObject): MemberEdits | null {
  const { content } = message;
  if (!Array.isArray(content) || !content.every(isReadable)) return null;
  const { text, reasoning } = readContent(content);
  if (reasoning === "") return { content: write(text) };
  const isReasoned = isGiven(message["reasoning_content"]) || isGiven(message["reasoning"]);
  return { content: write(text === "" ? null : text), ...(!isReasoned && { reasoning_content: write(reasoning) }) };
}

const READABLE: ReadonlySet<unknown> = new Set(["text", "output_text", "thinking", "reference"]);

function isReadable(part: unknown): boolean {
  return typeof part === "string" || (isObject(part) && READABLE.has(part["type"]));
}
