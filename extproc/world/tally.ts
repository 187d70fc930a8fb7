/** A set of texts, each of which stays as long as it was added more often than removed. */
export interface Tally {
  add(text: string): void;
  remove(text: string): void;
  has(text: string): boolean;
}

export function createTally(): Tally {
  const counts = new Map<string, number>();
  return {
    add: (text) => counts.set(text, (counts.get(text) ?? 0) + 1),
    remove(text) {
      const count = counts.get(text) ?? 0;
      if (count > 1) counts.set(text, count - 1);
      else counts.delete(text);
    },
    has: (text) => counts.has(text),
  };
}
