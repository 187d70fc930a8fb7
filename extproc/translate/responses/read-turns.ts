import { createEmbeddedJson, REQUEST_BOUNDS } from "../../protocol/json/bounds.ts";
import { hostedKind, isHosted } from "../../protocol/responses/hosted-item.ts";
import type { InputItem, InputItemOf } from "../../protocol/responses/request-item.ts";
import { below, fieldError, fieldPath, type FieldPath } from "../conversation/field-path.ts";
import { createFlatHistory } from "../conversation/flat-history.ts";
import { readArguments } from "../conversation/tool-input.ts";
import type { Block, TextBlock, ToolCallBlock, Turn } from "../conversation/turn.ts";
import { readContent, type InputContext } from "./read-content.ts";
import { readHostedCall, readHostedOutput } from "./hosted-items.ts";
import { readReasoning } from "./reasoning-history.ts";
import { flatToolName } from "./tools.ts";

export interface ReadTurns {
  system: TextBlock[];
  turns: Turn[];
}

/**
 * The items as turns; system messages at their head are part of the system prompt. A run of items that the model wrote is one
 * turn, in order.
 */
export function readTurns(items: readonly InputItem[], context: InputContext): ReadTurns {
  const history = createFlatHistory();
  const embedded = createEmbeddedJson(REQUEST_BOUNDS);
  const system: TextBlock[] = [];
  const input = fieldPath("input");
  let isHead = true;
  let answer: { blocks: Block[]; at: FieldPath } | null = null;

  for (const [index, item] of items.entries()) {
    const at = below(input, index);
    if (hostedKind(item.type) === "note") {
      context.omitted.content.add("input[].bookkeeping");
      continue;
    }
    const written = readModelItem(item, at);
    if (written !== null) {
      answer ??= { blocks: [], at };
      answer.blocks.push(...written);
      isHead = false;
      continue;
    }
    endAnswer();
    readOther(item, at);
  }
  endAnswer();
  return { system, turns: history.end() };

  function endAnswer(): void {
    if (answer !== null) history.answer(answer.blocks, answer.at);
    answer = null;
  }

  /** Null for an item of the other side. */
  function readModelItem(item: InputItem, at: FieldPath): Block[] | null {
    if (isHosted(item)) return hostedKind(item.type) === "call" ? readHostedCall(item, at) : null;
    switch (item.type) {
      case "reasoning":
        return readReasoning(item, context);
      case "item_reference":
        context.omitted.content.add("input[].item_reference");
        return [];
      case "function_call":
      case "custom_tool_call":
        return [readCall(item, at)];
      case "message":
        return item.role === "assistant" ? readContent(item.content, below(at, "content")) : null;
      case "function_call_output":
      case "custom_tool_call_output":
        return null;
    }
  }

  function readOther(item: InputItem, at: FieldPath): void {
    if (isHosted(item)) {
      isHead = false;
      history.append("user", readHostedOutput(item, at), at);
      return;
    }
    if (item.type === "function_call_output" || item.type === "custom_tool_call_output") {
      isHead = false;
      history.result(item.call_id, readContent(item.output, below(at, "output")), at);
    }
    if (item.type !== "message") return;
    if (item.role === "user") {
      isHead = false;
      history.append("user", readContent(item.content, below(at, "content")), at);
      return;
    }
    const texts = readSystem(item, at);
    if (isHead) system.push(...texts);
    else history.append("system", texts, at);
  }

  function readSystem({ content }: InputItemOf<"message">, at: FieldPath): TextBlock[] {
    return readContent(content, below(at, "content")).map((block) => {
      if (block.type === "text") return block;
      throw fieldError(block.at, " contains something other than text. System messages can only contain text.");
    });
  }

  function readCall(item: InputItemOf<"function_call" | "custom_tool_call">, at: FieldPath): ToolCallBlock {
    const call = { type: "tool_call", id: item.call_id, name: flatToolName(item.name, item.namespace), cache: null, at } as const;
    if (item.type === "custom_tool_call") return { ...call, input: { kind: "free_text", text: item.input } };
    return { ...call, input: readArguments(item.arguments, { at: below(at, "arguments"), embedded }) };
  }
}
