import type { Member } from "./visitor.ts";

/** How long a proof of who somebody is lasts. */
const FRESH_FOR_MS = 30 * 60_000;

/** The last sign-in is too long ago for this action: the answer leads to the page that asks for proof of identity. */
export class FreshSignInNeeded extends Error {
  /** Path of the page to continue from. */
  readonly next: string;

  constructor(next: string) {
    super("This takes a recent proof of who somebody is.");
    this.next = next;
  }
}

/**
 * For money settings, tokens and second factors: an unattended browser must not be enough, nor a password if its person has a
 * second factor.
 * @throws FreshSignInNeeded
 */
export function checkFresh(visitor: Pick<Member, "session" | "person">, next: string): void {
  if (!isProven(visitor)) throw new FreshSignInNeeded(next);
}

/** Whether `checkFresh` lets them pass. */
export function isProven(visitor: Pick<Member, "session" | "person">): boolean {
  return isFresh(visitor) && !lacksOwnFactor(visitor);
}

export function isFresh({ session }: Pick<Member, "session">): boolean {
  return isRecent(session.provenMsAgo);
}

/** @param msAgo below zero if it was written down by a clock that was ahead, which may be by a little only. */
export function isRecent(msAgo: number): boolean {
  return Math.abs(msAgo) <= FRESH_FOR_MS;
}

/** They have a second factor, but did not use it in this session: they came through a provider, or set it up elsewhere. */
function lacksOwnFactor({ person, session }: Pick<Member, "session" | "person">): boolean {
  return person.hasSecondFactor && !session.hasSecondFactor;
}
