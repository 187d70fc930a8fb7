import { REFUSALS, type AccountLoad } from "./account-load.ts";
import { createPace } from "./pace.ts";

/**
 * Holds back the refusals of clients that come back at once whatever they are told: each account's, and those that belong to no
 * account, leave at a steady rate. A client waits for its refusal before it asks again, so a flood of bad requests slows itself
 * down. Requests that are good never wait here, wherever they come from.
 */
export interface Refusals {
  /** @param load null if no account is known. @returns null if the refusal may leave at once. */
  hold(load: AccountLoad | null): Promise<void> | null;
}

export interface RefusalsDeps {
  /** Monotonic. */
  clock: { nowMs(): number };
  /** Most refusals held at once; what is beyond leaves at once. */
  maxHeld: number;
  /** Calls back later. */
  wait(delayMs: number): Promise<unknown>;
  onHeld(): void;
}

export function createRefusals({ clock, maxHeld, wait, onHeld }: RefusalsDeps): Refusals {
  const strangers = createPace(REFUSALS);
  let held = 0;

  async function holdFor(delayMs: number): Promise<void> {
    held += 1;
    onHeld();
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
