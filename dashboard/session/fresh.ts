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
 * For money settings, tokens and second factors: a browser that was left open must not be enough, nor a password where its
 * person has a second factor.
 * @throws FreshSignInNeeded
 */
export function checkFresh(visitor: Pick<Member, "session" | "person">, next: string): void {
  if (!isFresh(visitor) || lacksOwnFactor(visitor)) throw new FreshSignInNeeded(next);
}

export function isFresh({ session }: Pick<Member, "session">): boolean {
  return Date.now() - session.authenticatedAt.getTime() <= FRESH_FOR_MS;
}

/** They have a second factor, and did not prove it in this session: another service brought them, or they set it up elsewhere. */
function lacksOwnFactor({ person, session }: Pick<Member, "session" | "person">): boolean {
  return person.hasSecondFactor && !session.hasSecondFactor;
}
