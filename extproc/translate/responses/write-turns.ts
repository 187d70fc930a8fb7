import { createHash } from "node:crypto";
import type { Profile } from "../../../contract/profile.ts";
import type { Encodable } from "../../protocol/json/raw.ts";
import type { ClientWords, Omitted } from "../conversation/conversation.ts";
import { fieldError } from "../conversation/field-path.ts";
import { writeToolId } from "../conversation/ids.ts";
import type { ToolNames } from "../conversation/names.ts";
import { openSealed } from "../conversation/sealed-reasoning.ts";
import { systemReminder } from "../conversation/system-reminder.ts";
import { argumentsText } from "../conversation/tool-input.ts";
import type { Block, ThinkingBlock, ToolCallBlock, ToolResultBlock, Turn } from "../conversation/turn.ts";
import { textPart, writeParts, type Part } from "./parts.ts";

/** An item of a Responses request; members are written in this order. */
type Item = { readonly type: string; readonly [name: string]: Encodable };

export interface TurnsContext {
  profile: Profile;
  names: ToolNames;
  words: ClientWords;
  omitted: Omitted;
  /** The Model's own name: reasoning sealed by its server goes back to that server alone. */
  model: string;
}

/**
 * The turns as items, in the order of their blocks: thinking between two calls stays between them. Each turn is written from its
 * own content alone, so that a longer conversation begins with the bytes of the shorter one (prompt caches).
 */
export function writeTurns(turns: readonly Turn[], context: TurnsContext): Item[] {
  return turns.flatMap((turn) => {
    switch (turn.role) {
      case "assistant":
        return writeAssistant(turn, context);
      case "user":
        return writeUser(turn, context);
      case "system":
        return writeSystem(turn, context);
    }
  });
}

function writeAssistant({ content }: Turn, context: TurnsContext): Item[] {
  const items: Item[] = [];
  let text = "";
  for (const block of content) {
    if (block.type === "text") {
      text += block.text;
      continue;
    }
    endText();
    items.push(...writeModelBlock(block, context));
  }
  endText();
  // Servers reject reasoning that nothing follows.
  return items.slice(0, items.findLastIndex(({ type }) => type !== "reasoning") + 1);

  function endText(): void {
    if (text !== "") items.push({ type: "message", role: "assistant", content: text });
    text = "";
  }
}

function writeModelBlock(block: Exclude<Block, { type: "text" }>, context: TurnsContext): Item[] {
  switch (block.type) {
    case "tool_call":
      return [writeCall(block, context)];
    case "thinking":
      return writeThinking(block, context);
    case "redacted_thinking":
      context.omitted.content.add(context.words.redactedThinking);
      return [];
    case "image":
    case "document":
    case "tool_result":
      throw fieldError(block.at, " is not allowed in an assistant message. Move it to a user message.");
  }
}

function writeCall({ id, name, input }: ToolCallBlock, { profile, names }: TurnsContext): Item {
  return {
    type: "function_call",
    call_id: writeToolId(id, profile),
    name: names.toUpstream(name),
    arguments: argumentsText(input),
  };
}

/** As its own server sealed it; otherwise its text, if the server accepts that. */
function writeThinking({ text, signature }: ThinkingBlock, { profile, words, omitted, model }: TurnsContext): Item[] {
  const sealed = signature === null ? null : openSealed(signature);
  if (sealed?.model === model && sealed.kind === "reasoning") {
    const summary = text === "" ? [] : [{ type: "summary_text", text }];
    return [{ type: "reasoning", id: sealed.id || reasoningId(sealed.encrypted), summary, encrypted_content: sealed.encrypted }];
  }
  if (profile.reasoningHistory !== "never" && text !== "")
    return [{ type: "reasoning", id: reasoningId(text), summary: [], content: [{ type: "reasoning_text", text }] }];
  omitted.content.add(words.thinking);
  return [];
}

/** The protocol requires one; the same reasoning keeps it in every turn. */
function reasoningId(text: string): string {
  return `rs_${createHash("sha256").update(text).digest("hex").slice(0, 32)}`;
}

function writeUser({ content }: Turn, context: TurnsContext): Item[] {
  const items: Item[] = [];
  let parts: Part[] = [];
  for (const block of content) {
    switch (block.type) {
      case "text":
      case "image":
      case "document":
        parts.push(...writeParts(block, context.profile));
        break;
      case "tool_result":
        endMessage();
        items.push(writeResult(block, context));
        break;
      case "tool_call":
        throw fieldError(block.at, " is not allowed in a user message.");
      case "thinking":
      case "redacted_thinking":
        break;
    }
  }
  endMessage();
  return items;

  function endMessage(): void {
    if (parts.length > 0) items.push({ type: "message", role: "user", content: parts });
    parts = [];
  }
}

function writeResult({ id, content, isError }: ToolResultBlock, { profile }: TurnsContext): Item {
  const parts = content.flatMap((block) => writeParts(block, profile));
  return {
    type: "function_call_output",
    call_id: writeToolId(id, profile),
    output: writeOutput(isError ? markError(parts) : parts),
  };
}

/** A string if possible: not every server accepts parts. */
function writeOutput(parts: readonly Part[]): Encodable {
  const texts = parts.flatMap((part) => (part.type === "input_text" ? [part.text] : []));
  return texts.length === parts.length ? texts.join("\n") : parts;
}

/** Responses has no field for it, so the text says it. */
function markError(parts: readonly Part[]): Part[] {
  const [first, ...rest] = parts;
  if (first?.type === "input_text") return [textPart(`Error: ${first.text}`), ...rest];
  return [textPart("Error: "), ...parts];
}

function writeSystem({ content }: Turn, { profile }: TurnsContext): Item[] {
  const text = content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n");
  if (profile.systemAnywhere) return [{ type: "message", role: "system", content: text }];
  return [{ type: "message", role: "user", content: systemReminder(text) }];
}
