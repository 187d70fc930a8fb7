/** Finds a row by the text of its id. Open addressing over one typed array: four to eight bytes a row, and no object. */
export interface IdIndex {
  /** @returns the row, or -1. Makes no object. */
  find(id: string): number;
  /** `row` has this id, and no other row has. */
  add(id: string, row: number): void;
  /** @param row has this id and is in the index. */
  remove(id: string, row: number): void;
}

const FIRST_SLOTS = 1024;
const EMPTY = 0;
/** Marks a slot whose row was removed: a search goes on behind it. */
const REMOVED = -1;

/**
 * @param hasId is this the row's id?
 * @param hashOf the hash of a row's id: the same as `hashId` of its text.
 */
export function createIdIndex({
  hasId,
  hashOf,
}: {
  hasId(row: number, id: string): boolean;
  hashOf(row: number): number;
}): IdIndex {
  /** Row + 1. */
  let slots = new Int32Array(FIRST_SLOTS);
  let used = 0;
  let rows = 0;

  function insert(into: Int32Array, hash: number, row: number): void {
    const mask = into.length - 1;
    let slot = hash & mask;
    while ((into[slot] ?? EMPTY) > EMPTY) slot = (slot + 1) & mask;
    if (into[slot] === EMPTY) used++;
    into[slot] = row + 1;
  }

  /** Anew, half empty at least, without the removed ones. */
  function rebuild(): void {
    let size = FIRST_SLOTS;
    while (size < rows * 2) size *= 2;
    const before = slots;
    slots = new Int32Array(size);
    used = 0;
    for (const entry of before) if (entry > EMPTY) insert(slots, hashOf(entry - 1), entry - 1);
  }

  return {
    find(id) {
      const mask = slots.length - 1;
      for (let slot = hashId(id) & mask; ; slot = (slot + 1) & mask) {
        const entry = slots[slot] ?? EMPTY;
        if (entry === EMPTY) return -1;
        if (entry !== REMOVED && hasId(entry - 1, id)) return entry - 1;
      }
    },
    add(id, row) {
      // Always a third empty: a search ends soon.
      if ((used + 1) * 3 > slots.length * 2) rebuild();
      insert(slots, hashId(id), row);
      rows++;
    },
    remove(id, row) {
      const mask = slots.length - 1;
      for (let slot = hashId(id) & mask; ; slot = (slot + 1) & mask) {
        if (slots[slot] !== row + 1) continue;
        slots[slot] = REMOVED;
        rows--;
        return;
      }
    },
  };
}

const FNV_OFFSET = 0x811c9dc5;
const FNV_PRIME = 0x01000193;

/** FNV-1a of a text's character codes. Ids are random, so nobody can make those that are stored collide. */
function hashId(id: string): number {
  let hash = FNV_OFFSET;
  for (let index = 0; index < id.length; index++) hash = Math.imul(hash ^ id.charCodeAt(index), FNV_PRIME);
  return spread(hash);
}

/** The same of bytes: those of an ASCII text. */
export function hashBytes(bytes: Uint8Array, from: number, length: number): number {
  let hash = FNV_OFFSET;
  for (let index = from; index < from + length; index++) hash = Math.imul(hash ^ (bytes[index] ?? 0), FNV_PRIME);
  return spread(hash);
}

/** The index takes the low bits alone, which depend on the last characters most. */
function spread(hash: number): number {
  const mixed = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
  return (mixed ^ (mixed >>> 13)) >>> 0;
}
