import type { Profile } from "../../../contract/profile.ts";
import { writeToolId } from "../conversation/ids.ts";
import type { ResultBlock, ToolResultBlock } from "../conversation/turn.ts";
import type { ChatMessage } from "./chat-message.ts";
import { encodeContent, textPart, writeDocument, writeImage, type Part } from "./parts.ts";

/** The tool results of one run of turns. */
export interface ToolResults {
  add(block: ToolResultBlock): void;
  /** Appends a text to the last result; false if there is none. */
  append(text: string): boolean;
  /** Images and files that the server accepts only from a user, each after its label. */
  readonly attachments: readonly Part[];
  messages(): ChatMessage[];
}

/** Chat's tool messages are text to most servers: anything else is named there and attached after the last of them. */
export function createToolResults(profile: Profile): ToolResults {
  const results: { id: string; parts: Part[] }[] = [];
  const attachments: Part[] = [];
  let attached = 0;

  function add({ id, content, isError }: ToolResultBlock): void {
    const parts = content.flatMap(writeBlock);
    results.push({ id: writeToolId(id, profile), parts: isError ? markError(parts) : parts });
  }

  function writeBlock(block: ResultBlock): Part[] {
    switch (block.type) {
      case "text":
        return [textPart(block.text)];
      case "image":
        return [attach("image", writeImage(block))];
      case "document":
        return writeDocument(block, profile).map((part) => (part.type === "text" ? part : attach(kindOf(part), part)));
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

/** Chat has no field for it, so the text says it. */
function markError(parts: readonly Part[]): Part[] {
  const [first, ...rest] = parts;
  if (first?.type === "text") return [textPart(`Error: ${first.text}`), ...rest];
  return [textPart("Error: "), ...parts];
}
