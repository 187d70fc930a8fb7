import { LIMIT_NAMES } from "../../protocol/output/guarded-names.ts";
import type { RequestBody } from "../../protocol/json/request-body.ts";
import { remove, write, type MemberEdit } from "../../protocol/json/splice.ts";

/** Writes the limit that credit is reserved for into the one field that the server obeys, and removes every other one (S30). */
export function limitEdits(
  body: RequestBody,
  { field, tokens }: { field: (typeof LIMIT_NAMES)[number]; tokens: number },
): Record<string, MemberEdit> {
  const edits: Record<string, MemberEdit> = { [field]: write(tokens) };
  for (const name of LIMIT_NAMES) if (name !== field && Object.hasOwn(body.outline, name)) edits[name] = remove;
  return edits;
}
