import * as z from "zod";
import { BATCH_BOUNDS } from "../../contract/batches.ts";

const MAX_SECONDS = BATCH_BOUNDS.keptDays * 86_400;
const SECONDS_CLAIM = `must be a whole number from ${BATCH_BOUNDS.minKeptSeconds} to ${MAX_SECONDS}`;

/** How long a file is kept, in OpenAI's form: in seconds after its creation. */
export const expiresAfter = z
  .strictObject(
    {
      anchor: z.literal("created_at", "must be created_at"),
      seconds: z.int(SECONDS_CLAIM).min(BATCH_BOUNDS.minKeptSeconds, SECONDS_CLAIM).max(MAX_SECONDS, SECONDS_CLAIM),
    },
    "must have `anchor` and `seconds`, and nothing else",
  )
  .transform(({ seconds }) => seconds);

const EXPIRES_AFTER = /^expires_after\[(\w+)\]$/;

export function isExpiresAfter(fieldName: string): boolean {
  return EXPIRES_AFTER.test(fieldName);
}

/** The members of `expires_after` that a form has, each in a field of its own; undefined if it has none. */
export function expiresAfterOf(fields: ReadonlyMap<string, string>): Readonly<Record<string, unknown>> | undefined {
  const members = [...fields].flatMap(([name, text]) => {
    const member = EXPIRES_AFTER.exec(name)?.[1];
    return member === undefined ? [] : [[member, member === "seconds" && /^\d{1,9}$/.test(text) ? Number(text) : text] as const];
  });
  return members.length === 0 ? undefined : Object.fromEntries(members);
}
