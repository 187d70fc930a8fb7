import { createSealer } from "../sealer.ts";

const PURPOSE = "sealed secrets of people";

/** Encrypts for this service's own use; opening it requires the same `about`: its owner, for instance. */
export function seal(text: string, { pepper, about }: { pepper: Buffer; about: string }): Buffer {
  return createSealer(pepper, PURPOSE).seal(Buffer.from(text), about);
}

/** @returns undefined for a value sealed about something else, under another pepper, or not at all. */
export function unseal(sealed: Buffer, { pepper, about }: { pepper: Buffer; about: string }): string | undefined {
  return createSealer(pepper, PURPOSE).unseal(sealed, about)?.toString();
}
