import * as z from "zod";
import { parseWithin } from "../../protocol/json/bounds.ts";

/**
 * Reasoning that its server has encrypted, in the place of a signature: clients keep and return signatures as they are. Only the
 * server of the same Model can read it.
 */
export type SealedReasoning = z.infer<typeof headSchema> & { readonly encrypted: string };

const headSchema = z.object({
  /** The Model's own name. */
  model: z.string(),
  /** The server's id of the item; empty where it gave none. */
  id: z.string(),
});

const MARKER = "gws1.";
const HEAD_BOUNDS = { parts: 8, depth: 1 };

export function sealReasoning({ model, id, encrypted }: SealedReasoning): string {
  return `${MARKER}${Buffer.from(JSON.stringify({ model, id })).toString("base64url")}.${encrypted}`;
}

/** Null for any other signature. */
export function openSealed(signature: string): SealedReasoning | null {
  if (!isSealed(signature)) return null;
  const end = signature.indexOf(".", MARKER.length);
  if (end < 0) return null;
  try {
    const head = parseWithin(Buffer.from(signature.slice(MARKER.length, end), "base64url"), HEAD_BOUNDS);
    const parsed = headSchema.safeParse(head).data;
    return parsed === undefined ? null : { ...parsed, encrypted: signature.slice(end + 1) };
  } catch {
    // It only looks like ours.
    return null;
  }
}

export function isSealed(signature: string): boolean {
  return signature.startsWith(MARKER);
}
