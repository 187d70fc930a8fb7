import { fieldPath, type FieldPath } from "./field-path.ts";
import { originalToolId } from "./ids.ts";
import type { Block, ResultBlock, TextBlock, ToolCallBlock, ToolResultBlock, Turn } from "./turn.ts";

/**
 * Makes turns of a flat list, as chat and Responses write a conversation: neighbours of one role are joined, and each call is
 * answered at the head of what follows it. A turn depends on nothing behind it, so a longer history starts with the same bytes.
 */
export interface FlatHistory {
  /** Words of the user or the system. */
  append(role: "user" | "system", blocks: readonly Block[], at: FieldPath): void;
  /** What the model wrote. Its calls come with the client's ids. */
  answer(blocks: readonly Block[], at: FieldPath): void;
  /** The result of the first call of this id without one. */
  result(clientId: string, content: readonly ResultBlock[], at: FieldPath): void;
  end(): Turn[];
}

interface OpenCall {
  id: string;
  result: ToolResultBlock | null;
  at: FieldPath;
}

/** The calls of one id, in their order. */
interface SameId {
  calls: OpenCall[];
  /** Calls before it have a result. */
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

  /** Many servers count from `call_0` in every answer, but an id must be told from the others of its conversation. */
  function uniqueId(clientId: string): string {
    const count = (uses.get(clientId) ?? 0) + 1;
    uses.set(clientId, count);
    return count === 1 ? clientId : `${clientId}\0${count}`;
  }

  function openCall(call: ToolCallBlock): ToolCallBlock {
    // The client may have been given another id than the server's own.
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
      // Some agents put empty turns between others; thinking alone is no turn either.
      if (blocks.every(({ type }) => type === "thinking" || type === "redacted_thinking")) return;
      endWords();
      for (const block of blocks) add("assistant", block.type === "tool_call" ? openCall(block) : block, at);
    },
    result(clientId, content, at) {
      const call = takeUnanswered(clientId);
      if (call !== undefined) call.result = resultOf(call.id, content, at);
      // Nobody takes a result without its call; what it says is still worth reading.
      else append("user", [plainText(`[result of the earlier tool call ${clientId}]`, at), ...content], at);
    },
    end() {
      endWords();
      const first = turns[0];
      return first === undefined || first.role === "assistant" ? [CONTINUE, ...turns] : turns;
    },
  };
}

/** Stands where a conversation must begin with the user, and does not. */
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
