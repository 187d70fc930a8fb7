import { createHmac } from "node:crypto";
import { Signer } from "@fastify/cookie";
import * as z from "zod";

/** Data that we give to a browser or a mailbox, and recognise when it returns: signed, readable, with an expiry. */
export interface SignedNote<T> {
  write(value: T): string;
  /** @returns undefined for a note that is forged or expired. */
  read(text: string): T | undefined;
}

/**
 * @param options.purpose a note is valid for one purpose only.
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
