import { REFUSALS, type AccountLoad } from "./account-load.ts";
import { createPace } from "./pace.ts";

/**
 * Delays the refusals of clients that retry at once whatever the answer: each account's refusals, and those without an account,
 * are sent at a steady rate. A client waits for its refusal before it retries, so a flood of bad requests slows itself down.
 * Valid requests never wait here.
 */
export interface Refusals {
  /** @param load null if no account is known. @returns null if the refusal may be sent at once. */
  hold(load: AccountLoad | null): Promise<void> | null;
}

export interface RefusalsDeps {
  /** Monotonic. */
  clock: { nowMs(): number };
  /** Maximum number of delayed refusals; further ones are sent at once. */
  maxHeld: number;
  /** Calls back later. */
  wait(delayMs: number): Promise<unknown>;
  onDelayed(): void;
}

export function createRefusals({ clock, maxHeld, wait, onDelayed }: RefusalsDeps): Refusals {
  const strangers = createPace(REFUSALS);
  let held = 0;

  async function holdFor(delayMs: number): Promise<void> {
    held += 1;
    onDelayed();
    await wait(delayMs);
    held -= 1;
  }

  return {
    hold(load) {
      const delayMs = (load?.refusals ?? strangers).delayMs(clock.nowMs());
      return delayMs < 1 || held >= maxHeld ? null : holdFor(delayMs);
    },
  };
}
