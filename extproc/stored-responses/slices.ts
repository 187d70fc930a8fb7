/**
 * Long work in slices: at most one per turn of the event loop, whoever it is for, so that other requests' messages are handled in
 * between. Rows arrive many at a time, and eight conversations of 300 parts, opened one part after the other, were a single turn
 * of half a second.
 */
export interface Slices {
  /** @returns what to await before each piece of one request's work. */
  begin(): () => Promise<void>;
}

export interface SlicesOptions {
  /** Monotonic. */
  clock: { nowMs(): number };
  /** Calls back in the next turn of the event loop. */
  defer(callback: () => void): void;
}

const SLICE_MS = 2;

export function createSlices({ clock, defer }: SlicesOptions): Slices {
  const waiting: (() => void)[] = [];

  function next(): void {
    waiting.shift()?.();
    if (waiting.length > 0) defer(next);
  }

  function turn(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    waiting.push(resolve);
    if (waiting.length === 1) defer(next);
    return promise;
  }

  return {
    begin() {
      let endsMs = -Infinity;
      return async () => {
        if (clock.nowMs() < endsMs) return;
        await turn();
        endsMs = clock.nowMs() + SLICE_MS;
      };
    },
  };
}
