/** Numbers from 0 up to 1, the same for the same seed. */
export type Random = () => number;

/** Mulberry32: good enough to wander, and the whole state is one number that a failed run prints. */
export function seeded(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export const below = (random: Random, bound: number): number => Math.floor(random() * bound);

export function pick<T>(random: Random, items: readonly T[]): T {
  const item = items[below(random, items.length)];
  if (item === undefined) throw new Error("There is nothing to pick from.");
  return item;
}
