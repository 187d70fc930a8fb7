import type { Profile } from "../../../contract/profile.ts";
import type { Encodable } from "../../protocol/json/raw.ts";
import { schemaInstruction } from "../conversation/schema-instruction.ts";
import { isStrictSchema } from "../conversation/strict-schema.ts";
import type { FormatWish } from "../conversation/wish.ts";

/** How the answer's form is asked for: the request's `text`, and an instruction where the server knows no schemas. */
export interface ResponseFormat {
  text: Encodable;
  instruction: string | null;
}

export function writeFormat(wish: FormatWish | null, { jsonSchema }: Profile): ResponseFormat {
  if (wish === null) return { text: null, instruction: null };
  if (wish.type === "json_object") {
    const isKnown = jsonSchema === "native" || jsonSchema === "json_object";
    return { text: isKnown ? JSON_MODE : null, instruction: null };
  }
  switch (jsonSchema) {
    case "native":
      return { text: { format: formatOf(wish) }, instruction: null };
    case "json_object":
      return { text: JSON_MODE, instruction: schemaInstruction(wish.schema) };
    // A tool in place of a field is for messages servers.
    case "tool":
    case "instruct":
      return { text: null, instruction: schemaInstruction(wish.schema) };
  }
}

const JSON_MODE = { format: { type: "json_object" } };

/** Responses demands a name, and takes `strict` for granted: a schema with optional properties cannot be. */
function formatOf({ parsed, schema }: Extract<FormatWish, { type: "json_schema" }>): Encodable {
  return { type: "json_schema", name: "response", strict: isStrictSchema(parsed), schema };
}
