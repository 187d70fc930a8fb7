import * as z from "zod";
import { parseWithin } from "../../protocol/json/bounds.ts";

/**
 * Content that only a server of the same Model can read: its encrypted reasoning, or its signature of the tool call that follows.
 * It takes the place of a thinking block's signature, which clients keep and return unchanged.
 */
export type SealedReasoning = z.infer<typeof headSchema> & { readonly encrypted: string };

const headSchema = z.object({
  /** The Model's own name. */
  model: z.string(),
  kind: z.enum(["reasoning", "call"]).default("reasoning"),
  /** The server's id of the item of reasoning; empty if it has none. */
  id: z.string(),
});

const MARKER = "gws1.";
const HEAD_BOUNDS = { parts: 8, depth: 1 };

export function sealReasoning({ model, id, encrypted }: Omit<SealedReasoning, "kind">): string {
  return seal({ model, id }, encrypted);
}

/** A chat server's signature of a tool call. */
export function sealCallSignature(model: string, signature: string): string {
  return seal({ model, kind: "call", id: "" }, signature);
}

function seal(head: z.input<typeof headSchema>, encrypted: string): string {
  return `${MARKER}${Buffer.from(JSON.stringify(head)).toString("base64url")}.${encrypted}`;
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
