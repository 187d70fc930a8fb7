import { checkBlocks } from "../../protocol/answer-bounds.ts";
import { isObject } from "../../protocol/json/object.ts";
import { namesOf } from "./item-names.ts";

/**
 * The positions of a stream's items in its output. Some servers (llama.cpp) give none: their items are in the order in which they
 * begin, and later events name them.
 */
export interface ItemPositions {
  /** Of an item that begins. */
  begin(index: number | null, item: unknown): number;
  /** Of an item of which a piece arrives. */
  piece(index: number | null, id: string | null | undefined): number;
  /** Of an item in its final form. */
  finish(index: number | null, item: unknown): number;
  /** Of an item of the whole output. */
  whole(index: number, item: unknown): number;
}

export function createItemPositions(): ItemPositions {
  /** Of items without a position. */
  const byName = new Map<string, number>();
  let next = 0;
  let last = 0;

  function take(index: number): number {
    next = Math.max(next, index + 1);
    last = index;
    return index;
  }

  function takeNamed(names: readonly string[], otherwise: number): number {
    const index = take(find(names) ?? otherwise);
    for (const name of names) byName.set(name, index);
    checkBlocks(byName.size);
    return index;
  }

  function find(names: readonly string[]): number | undefined {
    for (const name of names) {
      const index = byName.get(name);
      if (index !== undefined) return index;
    }
    return undefined;
  }

  return {
    begin: (index, item) => (index === null ? takeNamed(namesIn(item), next) : take(index)),
    piece: (index, id) => index ?? find(namesOf({ id })) ?? last,
    finish(index, item) {
      if (index !== null) return take(index);
      const names = namesIn(item);
      return takeNamed(names, names.length === 0 ? last : next);
    },
    whole: (index, item) => find(namesIn(item)) ?? index,
  };
}

function namesIn(item: unknown): readonly string[] {
  return isObject(item) ? namesOf(item) : [];
}
