import { isObject, type JsonObject } from "./json/object.ts";

/** A tool that a request offers to the model. */
export interface OfferedTool {
  tool: unknown;
  /** Where it is, as `tools[0]`. */
  field: string;
}

type IsMeant = (tool: unknown) => boolean;

/**
 * The first one that is meant; null if there is none. The newest protocols define tools in the middle of a conversation, too.
 * A request may have millions: none is kept.
 */
export function findOfferedTool(outline: JsonObject, isMeant: IsMeant): OfferedTool | null {
  const { tools, messages, input } = outline;
  return (
    findInList(tools, "tools", isMeant) ??
    first(messages, (message, turn) => findInMessage(message, turn, isMeant)) ??
    // Responses: items with more tools, and what a search for tools found.
    first(input, (item, index) => findInList(item["tools"], `input[${index}].tools`, isMeant))
  );
}

function findInList(tools: unknown, field: string, isMeant: IsMeant): OfferedTool | null {
  if (tools === undefined) return null;
  // One object where others have a list.
  const list: readonly unknown[] = Array.isArray(tools) ? tools : [tools];
  // An iterator over entries would allocate for each tool.
  for (let index = 0; index < list.length; index += 1) {
    const tool = list[index];
    if (isMeant(tool)) return { tool, field: `${field}[${index}]` };
    const inside = isNamespace(tool) ? tool["tools"] : undefined;
    // Namespaces hold no others: nesting may be deeper than the stack.
    const at = Array.isArray(inside) ? inside.findIndex((each) => isMeant(each) || isNamespace(each)) : -1;
    if (Array.isArray(inside) && at >= 0) return { tool: inside[at], field: `${field}[${index}].tools[${at}]` };
  }
  return null;
}

function isNamespace(tool: unknown): tool is JsonObject {
  return isObject(tool) && tool["type"] === "namespace";
}

/** Messages: blocks that add a tool, and those that a compacted conversation had added. Some chat servers take whole lists. */
function findInMessage(message: JsonObject, turn: number, isMeant: IsMeant): OfferedTool | null {
  const { tools, content } = message;
  const at = `messages[${turn}]`;
  return (
    findInList(tools, `${at}.tools`, isMeant) ??
    first(content, (block, index) => {
      const own = findDefinition(block, isMeant);
      if (own !== null) return { tool: own.tool, field: `${at}.content[${index}].${own.field}` };
      const earlier = first(block["tool_changes"], (change, position) => {
        const defined = findDefinition(change, isMeant);
        return defined === null ? null : { tool: defined.tool, field: `tool_changes[${position}].${defined.field}` };
      });
      return earlier === null ? null : { tool: earlier.tool, field: `${at}.content[${index}].${earlier.field}` };
    })
  );
}

function findDefinition({ tool }: JsonObject, isMeant: IsMeant): OfferedTool | null {
  if (!isObject(tool) || tool["definition"] === undefined || !isMeant(tool["definition"])) return null;
  return { tool: tool["definition"], field: "tool.definition" };
}

/** What the first of a list's objects gives. */
function first(list: unknown, find: (element: JsonObject, index: number) => OfferedTool | null): OfferedTool | null {
  if (!Array.isArray(list)) return null;
  for (let index = 0; index < list.length; index += 1) {
    const element: unknown = list[index];
    const found = isObject(element) ? find(element, index) : null;
    if (found !== null) return found;
  }
  return null;
}
