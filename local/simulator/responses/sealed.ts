import { createHash } from "node:crypto";

/** Reasoning in a form that only this server reads: like the real one, opaque and bound to its model. */
export function sealReasoning(reasoning: string, model: string): string {
  const text = Buffer.from(reasoning);
  return Buffer.concat([tagOf(text, model), text]).toString("base64");
}

/** Null for anything that it has not sealed. */
export function unsealReasoning(sealed: string, model: string): string | null {
  const bytes = Buffer.from(sealed, "base64");
  const text = bytes.subarray(TAG_BYTES);
  return bytes.length > TAG_BYTES && tagOf(text, model).equals(bytes.subarray(0, TAG_BYTES)) ? text.toString("utf8") : null;
}

const TAG_BYTES = 32;

function tagOf(text: Buffer, model: string): Buffer {
  return createHash("sha256").update(`simulation ${model} `).update(text).digest();
}
