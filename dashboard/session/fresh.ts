import type { Member } from "./visitor.ts";

const FRESH_FOR_MS = 30 * 60_000;

/** Somebody signed in too long ago for what they want to do: the answer leads to where they prove who they are. */
export class FreshSignInNeeded extends Error {
  /** Path of the page to go on from. */
  readonly next: string;

  constructor(next: string) {
    super("This takes a recent proof of who somebody is.");
    this.next = next;
  }
}

/**
 * For money settings and tokens: a browser that was left open must not be enough.
 * @throws FreshSignInNeeded
 */
export function checkFresh({ session }: Pick<Member, "session">, next: string): void {
  if (Date.now() - session.authenticatedAt.getTime() > FRESH_FOR_MS) throw new FreshSignInNeeded(next);
}
