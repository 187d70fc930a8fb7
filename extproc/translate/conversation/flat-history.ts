import { fieldPath, type FieldPath } from "./field-path.ts";
import { originalToolId } from "./ids.ts";
import type { Block, ResultBlock, TextBlock, ToolCallBlock, ToolResultBlock, Turn } from "./turn.ts";

/**
 * Makes turns of a flat list, as chat and Responses write a conversation: neighbors of one role are joined, and each call is
 * answered at the head of the turn after it. A turn does not depend on anything after it, so a longer history starts with the
 * same bytes.
 */
export interface FlatHistory {
  /** Text of the user or the system. */
  append(role: "user" | "system", blocks: readonly Block[], at: FieldPath): void;
  /** The model's output. Its calls have the client's ids. */
  answer(blocks: readonly Block[], at: FieldPath): void;
  /** The result of the first unanswered call with this id. */
  result(clientId: string, content: readonly ResultBlock[], at: FieldPath): void;
  end(): Turn[];
}

interface OpenCall {
  id: string;
  result: ToolResultBlock | null;
  at: FieldPath;
}

/** The calls of one id, in order. */
interface SameId {
  calls: OpenCall[];
  /** Number of its calls that have a result. */
  next: number;
}

interface Word {
  role: "user" | "system";
  block: Block;
  at: FieldPath;
}

export function createFlatHistory(): FlatHistory {
  const turns: { role: Turn["role"]; content: Block[]; at: FieldPath }[] = [];
  const uses = new Map<string, number>();
  let calls: OpenCall[] = [];
  /** By the client's id. */
  const callsById = new Map<string, SameId>();
  let words: Word[] = [];

  /** Many servers count from `call_0` in every answer, but an id must be unique in its conversation. */
  function uniqueId(clientId: string): string {
    const count = (uses.get(clientId) ?? 0) + 1;
    uses.set(clientId, count);
    return count === 1 ? clientId : `${clientId}\0${count}`;
  }

  function openCall(call: ToolCallBlock): ToolCallBlock {
    // The client may have received an id other than the server's own.
    const id = uniqueId(originalToolId(call.id));
    const open: OpenCall = { id, result: null, at: call.at };
    calls.push(open);
    const sameId = callsById.get(call.id) ?? { calls: [], next: 0 };
    sameId.calls.push(open);
    callsById.set(call.id, sameId);
    return { ...call, id };
  }

  function takeUnanswered(clientId: string): OpenCall | undefined {
    const sameId = callsById.get(clientId);
    const call = sameId?.calls[sameId.next];
    if (sameId !== undefined && call !== undefined) sameId.next += 1;
    return call;
  }

  function endWords(): void {
    for (const call of calls) add("user", call.result ?? missingResult(call), call.at);
    for (const { role, block, at } of words) add(role, block, at);
    calls = [];
    callsById.clear();
    words = [];
  }

  function add(role: Turn["role"], block: Block, at: FieldPath): void {
    const last = turns.at(-1);
    if (last?.role === role) last.content.push(block);
    else turns.push({ role, content: [block], at });
  }

  function append(role: Word["role"], blocks: readonly Block[], at: FieldPath): void {
    for (const block of blocks) words.push({ role, block, at });
  }

  return {
    append,
    answer(blocks, at) {
      // Some agents put empty turns between others; thinking alone does not make a turn either.
      if (blocks.every(({ type }) => type === "thinking" || type === "redacted_thinking")) return;
      endWords();
      for (const block of blocks) add("assistant", block.type === "tool_call" ? openCall(block) : block, at);
    },
    result(clientId, content, at) {
      const call = takeUnanswered(clientId);
      if (call !== undefined) call.result = resultOf(call.id, content, at);
      // No server accepts a result without its call; its text is still useful.
      else append("user", [plainText(`[result of the earlier tool call ${clientId}]`, at), ...content], at);
    },
    end() {
      endWords();
      const first = turns[0];
      return first === undefined || first.role === "assistant" ? [CONTINUE, ...turns] : turns;
    },
  };
}

/** Inserted where a conversation must begin with the user, and does not. */
const CONTINUE_AT = fieldPath("body");
const CONTINUE: Turn = { role: "user", content: [plainText("(continue)", CONTINUE_AT)], at: CONTINUE_AT };

/** A cache mark inside a result moves to the result as a whole. */
function resultOf(id: string, content: readonly ResultBlock[], at: FieldPath): ToolResultBlock {
  const cache = content.findLast((block) => block.cache !== null)?.cache ?? null;
  return { type: "tool_result", id, content, isError: false, cache, at };
}

function missingResult({ id, at }: OpenCall): ToolResultBlock {
  return { type: "tool_result", id, content: [plainText("[no result]", at)], isError: true, cache: null, at };
}

function plainText(text: string, at: FieldPath): TextBlock {
  return { type: "text", text, cache: null, at };
}
