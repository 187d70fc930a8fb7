/**
 * A Map for items that come and go with every request. A deleted item is garbage at once, unlike in V8's own Map and Set: these
 * are rebuilt every few dozen deletions, and each old table keeps its items and a pointer to the next table. Once a dead table
 * is in the old generation, nothing that later tables refer to is collected with the young generation; all of it is promoted
 * (docs/decisions/0023). Old tables still keep keys, which should therefore be small.
 */
export interface FleetingMap<Key, Item> {
  readonly size: number;
  get(key: Key): Item | undefined;
  set(key: Key, item: Item): void;
  delete(key: Key): void;
  /** In insertion order; the map may change during the iteration. */
  values(): Iterable<Item>;
}

/** Old tables refer to this cell, which is emptied on deletion. */
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
