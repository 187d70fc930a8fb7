import type { ResultBlock, ToolResultBlock } from "../../protocol/messages/request-block.ts";
import type { ChatMessage } from "./chat-message.ts";
import { upstreamToolId, type ConversationContext } from "./conversation-context.ts";
import { noteMarks } from "./dropped-fields.ts";
import { encodeContent, textPart, translateDocument, translateImage, type Part } from "./parts.ts";
import { searchResultText } from "./search-result.ts";

/** The tool results of one run of turns. */
export interface ToolResults {
  /** @param field where the block stands, for errors. */
  add(block: ToolResultBlock, field: string): void;
  /** Puts a text behind the last result; false where there is none. */
  append(text: string): boolean;
  /** Images and files that the server takes only from a user, each behind its label. */
  readonly attachments: readonly Part[];
  messages(): ChatMessage[];
}

/** Chat's tool messages are text to most servers: what is not is named there and attached behind the last of them. */
export function createToolResults({ profile, dropped }: ConversationContext): ToolResults {
  const results: { id: string; parts: Part[] }[] = [];
  const attachments: Part[] = [];
  let attached = 0;

  function add(block: ToolResultBlock, field: string): void {
    noteMarks(block, dropped);
    const parts = block.content.flatMap((inner, index) => readBlock(inner, `${field}.content[${index}]`));
    results.push({ id: upstreamToolId(block.tool_use_id, profile), parts: block.is_error === true ? markError(parts) : parts });
  }

  function readBlock(block: ResultBlock, field: string): Part[] {
    noteMarks(block, dropped);
    switch (block.type) {
      case "text":
        return [textPart(block.text)];
      case "image":
        return [attach("image", translateImage(block, field))];
      case "document":
        return translateDocument(block, field, profile).map((part) => (part.type === "text" ? part : attach(kindOf(part), part)));
      case "search_result":
        return [textPart(searchResultText(block))];
      case "tool_reference":
        return [textPart(`The tool ${block.tool_name} is available.`)];
    }
  }

  function attach(kind: string, part: Part): Part {
    if (profile.imageInToolResult) return part;
    attached += 1;
    attachments.push(textPart(`[${kind} ${attached}]`), part);
    return textPart(`[${kind} ${attached} attached below]`);
  }

  return {
    add,
    append(text) {
      const last = results.at(-1);
      last?.parts.push(textPart(text));
      return last !== undefined;
    },
    attachments,
    messages: () => results.map(({ id, parts }) => ({ role: "tool", tool_call_id: id, content: encodeContent(parts, false) })),
  };
}

function kindOf(part: Part): string {
  return part.type === "file" ? "file" : "image";
}

/** Chat has no field for it: the text says so. */
function markError(parts: readonly Part[]): Part[] {
  const [first, ...rest] = parts;
  if (first?.type === "text") return [textPart(`Error: ${first.text}`), ...rest];
  return [textPart("Error: "), ...parts];
}
