import { MAX_SERIES } from "./series.ts";

/** The last colour is grey, for groups of several models. */
const GREY = MAX_SERIES - 1;

/**
 * The colour of each series of models. A model has the colour of its rank in the catalogue on every page, except if a
 * lower-ranked model in the same chart has that colour.
 * @param ranked names of all models ever published, in order: ranks never change.
 */
export function modelColours(names: readonly string[], ranked: readonly string[]): number[] {
  const ranks = new Map(ranked.map((name, rank) => [name, rank]));
  const free = new Set(Array.from({ length: MAX_SERIES }, (_, colour) => colour));
  const colours = new Map<string, number>();
  if (names.some((name) => !ranks.has(name))) free.delete(GREY);
  for (const name of ranked.filter((each) => names.includes(each))) {
    const own = (ranks.get(name) ?? 0) % GREY;
    const [next = GREY] = free.has(own) ? [own] : free;
    free.delete(next);
    colours.set(name, next);
  }
  return names.map((name) => colours.get(name) ?? GREY);
}
