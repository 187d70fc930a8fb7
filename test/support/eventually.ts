import { setTimeout as sleep } from "node:timers/promises";

/** Tries until the work passes; fails with its last error after `withinMs`, which is long: machines that run tests are slow. */
export async function eventually<T>(work: () => Promise<T> | T, { withinMs = 30_000, everyMs = 50 } = {}): Promise<T> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (performance.now() >= deadline) throw error;
      await sleep(everyMs);
    }
  }
}
