import * as z from "zod";
import { parseWithin } from "../../protocol/json/bounds.ts";

/**
 * The content of `encrypted_content` here: a block of thinking with the data that its server needs to accept it back. Nothing in
 * it is secret (the client reads the same text as the summary), so it is only packed: a client returns it unchanged.
 */
const thoughtSchema = z.object({
  /** The Model that thought it: another Model's server would reject the signature. */
  model: z.string(),
  thinking: z.string().optional(),
  signature: z.string().optional(),
  /** Of a block that the server itself keeps unreadable. */
  redacted: z.string().optional(),
});
export type Thought = z.infer<typeof thoughtSchema>;

const MARKER = "gw1.";
/** As flat as the schema; members of later versions may be present too. */
const THOUGHT_BOUNDS = { parts: 16, depth: 1 };

export function encodeThought(thought: Thought): string {
  return MARKER + Buffer.from(JSON.stringify(thought)).toString("base64url");
}

export function isPacked(content: string): boolean {
  return content.startsWith(MARKER);
}

/** Null for another service's content, which only that service can read. */
export function decodeThought(content: string): Thought | null {
  if (!isPacked(content)) return null;
  try {
    const json = parseWithin(Buffer.from(content.slice(MARKER.length), "base64url"), THOUGHT_BOUNDS);
    return thoughtSchema.safeParse(json).data ?? null;
  } catch {
    // It only looks like ours.
    return null;
  }
}
