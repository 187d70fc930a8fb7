import * as z from "zod";

/** Stands for a name that a newer version wrote, and that this one does not know after a rollback (docs/decisions/0042). */
export const OTHER = "other";
export type OrOther<Name> = Name | typeof OTHER;

/** A column of names that a newer version may add to: one such row must not keep the others of its list from being read. */
export function knownOrOther<const Name extends string>(names: readonly Name[]): z.ZodType<OrOther<Name>> {
  return z.string().transform((name) => names.find((known) => known === name) ?? OTHER);
}
