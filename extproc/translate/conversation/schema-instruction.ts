import type { RawJson } from "../../protocol/json/raw.ts";

/** Requests an answer of this schema in words, if the server has no field for it. */
export function schemaInstruction(schema: RawJson): string {
  return `Answer with one JSON object and nothing else. It must be valid against this JSON Schema:\n${schema.text}`;
}
