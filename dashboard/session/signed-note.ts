import { createHmac } from "node:crypto";
import { Signer } from "@fastify/cookie";
import * as z from "zod";

/** Something that we hand to a browser or a mailbox, and know again when it comes back: signed, readable, for a time. */
export interface SignedNote<T> {
  write(value: T): string;
  /** @returns undefined for what we never wrote, or wrote too long ago. */
  read(text: string): T | undefined;
}

/**
 * @param options.purpose a note for one purpose is none for another.
 * @param options.pepper the secret of this service.
 */
export function signedNote<T>(
  schema: z.ZodType<T>,
  { purpose, pepper, forMs }: { purpose: string; pepper: Buffer; forMs: number },
): SignedNote<T> {
  const signer = new Signer(createHmac("sha256", pepper).update(purpose).digest());
  const noteSchema = z.strictObject({ value: schema, untilMs: z.int() });
  return {
    write: (value) => signer.sign(Buffer.from(JSON.stringify({ value, untilMs: Date.now() + forMs })).toString("base64url")),
    read(text) {
      const { valid, value } = signer.unsign(text);
      if (!valid || value === null) return undefined;
      const { data } = noteSchema.safeParse(JSON.parse(Buffer.from(value, "base64url").toString()));
      return data !== undefined && data.untilMs > Date.now() ? data.value : undefined;
    },
  };
}
