/**
 * A Map of what comes and goes with every request. What is deleted from it is garbage at once, which it is not in a Map or Set
 * of V8's: these are rebuilt every few dozen deletions, each table goes on pointing to the next, and holds what was in it
 * then. Once one such table is in the old generation and dead, nothing that hangs on the later ones is collected with the
 * young, but all of it grows old (docs/decisions/0023). Keys stay behind all the same: they should be small.
 */
export interface FleetingMap<Key, Item> {
  readonly size: number;
  get(key: Key): Item | undefined;
  set(key: Key, item: Item): void;
  delete(key: Key): void;
  /** In the order in which they came; it may change meanwhile. */
  values(): Iterable<Item>;
}

/** What tables of the past point to: emptied, it holds nothing. */
interface Cell<Item> {
  item: Item | undefined;
}

export function createFleetingMap<Key, Item>(): FleetingMap<Key, Item> {
  const cells = new Map<Key, Cell<Item>>();

  function take(key: Key): void {
    const cell = cells.get(key);
    if (cell === undefined) return;
    cells.delete(key);
    cell.item = undefined;
  }

  return {
    get size() {
      return cells.size;
    },
    get: (key) => cells.get(key)?.item,
    set(key, item) {
      take(key);
      cells.set(key, { item });
    },
    delete: take,
    *values() {
      for (const { item } of cells.values()) if (item !== undefined) yield item;
    },
  };
}
