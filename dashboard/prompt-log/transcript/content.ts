import { argumentsOf, asText, isObject, objectsIn, part, pretty, type Json, type Part } from "./turn.ts";

/** The content of a message of any of the protocols: a text, or a list of blocks. What is unknown is shown as JSON. */
export function partsOf(content: unknown): Part[] {
  if (typeof content === "string") return [part("text", content)];
  if (!Array.isArray(content)) return content === undefined || content === null ? [] : [part("other", pretty(content))];
  return content.flatMap((block: unknown) => (isObject(block) ? blockOf(block) : [part("text", asText(block))]));
}

const TEXTS: ReadonlySet<unknown> = new Set(["text", "input_text", "output_text"]);

function blockOf(block: Json): Part[] {
  const { type } = block;
  if (TEXTS.has(type) && typeof block["text"] === "string") return [part("text", block["text"])];
  if (type === "refusal") return [part("text", asText(block["refusal"]), "Refusal")];
  if (type === "thinking") return [part("reasoning", asText(block["thinking"]))];
  if (type === "tool_use" || type === "server_tool_use")
    return [part("tool_call", argumentsOf(block["input"]), asText(block["name"]))];
  if (typeof type === "string" && type.endsWith("tool_result"))
    return [part("tool_result", textOfResult(block["content"]), asText(block["tool_use_id"]))];
  return [part("other", pretty(block), asText(type) || null)];
}

/** Of texts alone, the texts; anything else is JSON. */
export function textOfResult(content: unknown): string {
  const blocks = objectsIn(content);
  const isText = Array.isArray(content) && blocks.length === content.length && blocks.every(({ type }) => TEXTS.has(type));
  return isText ? blocks.map(({ text }) => asText(text)).join("\n") : asText(content);
}
