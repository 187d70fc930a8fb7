import { isObject, type JsonObject } from "./json/object.ts";

/** A tool that a request offers to the model. */
export interface OfferedTool {
  tool: unknown;
  /** Where, as `tools[0]`. */
  field(): string;
}

/** All of them: the newest protocols define tools in the middle of a conversation, too. */
export function offeredTools(outline: JsonObject): OfferedTool[] {
  const found: OfferedTool[] = [];
  add(found, outline["tools"], () => "tools");
  const { messages, input } = outline;
  if (Array.isArray(messages)) for (const [turn, message] of messages.entries()) addDefined(found, message, turn);
  // Responses: items with more tools, and what a search for tools found.
  if (Array.isArray(input))
    for (const [index, item] of input.entries())
      if (isObject(item) && item["tools"] !== undefined) add(found, item["tools"], () => `input[${index}].tools`);
  return found;
}

function add(found: OfferedTool[], tools: unknown, field: () => string): void {
  // One object where others have a list.
  const list: readonly unknown[] = Array.isArray(tools) ? tools : [tools];
  for (const [index, tool] of list.entries()) {
    const own = () => `${field()}[${index}]`;
    found.push({ tool, field: own });
    if (isObject(tool) && tool["type"] === "namespace") add(found, tool["tools"], () => `${own()}.tools`);
  }
}

/** Messages: blocks that add a tool, and those that a compacted conversation had added. Some chat servers take whole lists. */
function addDefined(found: OfferedTool[], message: unknown, turn: number): void {
  if (!isObject(message)) return;
  if (message["tools"] !== undefined) add(found, message["tools"], () => `messages[${turn}].tools`);
  const { content } = message;
  if (!Array.isArray(content)) return;
  for (const [index, block] of content.entries()) {
    if (!isObject(block)) continue;
    const at = () => `messages[${turn}].content[${index}]`;
    addDefinition(found, block, at);
    const { tool_changes: changes } = block;
    if (!Array.isArray(changes)) continue;
    for (const [position, change] of changes.entries())
      if (isObject(change)) addDefinition(found, change, () => `${at()}.tool_changes[${position}]`);
  }
}

function addDefinition(found: OfferedTool[], { tool }: JsonObject, at: () => string): void {
  if (isObject(tool) && tool["definition"] !== undefined)
    found.push({ tool: tool["definition"], field: () => `${at()}.tool.definition` });
}
