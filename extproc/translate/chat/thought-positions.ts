import type { Block, RedactedThinkingBlock, ResultBlock, ThinkingBlock } from "../conversation/turn.ts";

/**
 * Messages servers think between text and calls, and reject a conversation whose thinking is returned in another order. A chat
 * message has no order, so each entry of `reasoning_details` carries its position as its id.
 */
export interface ThoughtPosition {
  /** UTF-16 units of `content` before it. */
  readonly characters: number;
  /** Calls before it. */
  readonly calls: number;
}

export interface PositionedThought {
  readonly block: ThinkingBlock | RedactedThinkingBlock;
  readonly after: ThoughtPosition;
}

const HEAD: ThoughtPosition = { characters: 0, calls: 0 };
const POSITION_ID = /^gw-after-(\d{1,9})-(\d{1,6})$/;

/** Undefined at the head of a message, where thinking has no id. */
export function positionId({ characters, calls }: ThoughtPosition): string | undefined {
  return characters === 0 && calls === 0 ? undefined : `gw-after-${characters}-${calls}`;
}

export function readPosition(id: unknown): ThoughtPosition {
  const match = typeof id === "string" ? POSITION_ID.exec(id) : null;
  return match === null ? HEAD : { characters: Number(match[1]), calls: Number(match[2]) };
}

/**
 * The message as it was written: text, then calls, with thoughts in their positions. Null if a position is outside the message.
 */
export function placeThoughts(
  thoughts: readonly PositionedThought[],
  content: readonly ResultBlock[],
  calls: readonly Block[],
): Block[] | null {
  const written: Block[] = [];
  const remaining = content.toReversed();
  let characters = 0;
  let called = 0;

  for (const { block, after } of thoughts) {
    writeUpTo(after.characters);
    if (called < after.calls) {
      writeUpTo(Infinity);
      written.push(...calls.slice(called, after.calls));
      called = after.calls;
    }
    if (characters < after.characters || called > calls.length) return null;
    written.push(block);
  }
  writeUpTo(Infinity);
  return [...written, ...calls.slice(called)];

  function writeUpTo(end: number): void {
    while (characters < end) {
      const next = remaining.pop();
      if (next === undefined) return;
      if (next.type !== "text") {
        written.push(next);
        continue;
      }
      const text = next.text.slice(0, end - characters);
      const rest = next.text.slice(text.length);
      characters += text.length;
      if (rest !== "") remaining.push({ ...next, text: rest });
      // Servers reject text of white space alone.
      if (text.trim() !== "") written.push(rest === "" ? next : { ...next, text, cache: null });
    }
  }
}
