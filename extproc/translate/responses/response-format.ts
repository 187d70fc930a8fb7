import type { Profile } from "../../../contract/profile.ts";
import type { Encodable } from "../../protocol/json/raw.ts";
import { schemaInstruction } from "../conversation/schema-instruction.ts";
import { describeFormat } from "../conversation/describe-format.ts";
import type { FormatWish } from "../conversation/wish.ts";

/** How the answer's form is requested: `text.format`, and an instruction if the server does not support schemas. */
export interface ResponseFormat {
  format: Encodable | null;
  instruction: string | null;
}

export function writeFormat(wish: FormatWish | null, { jsonSchema }: Profile): ResponseFormat {
  if (wish === null) return { format: null, instruction: null };
  if (wish.type === "json_object") {
    const isKnown = jsonSchema === "native" || jsonSchema === "json_object";
    return { format: isKnown ? JSON_MODE : null, instruction: null };
  }
  switch (jsonSchema) {
    case "native":
      return { format: formatOf(wish), instruction: null };
    case "json_object":
      return { format: JSON_MODE, instruction: schemaInstruction(wish.schema) };
    // A tool instead of a field is for messages servers.
    case "tool":
    case "instruct":
      return { format: null, instruction: schemaInstruction(wish.schema) };
  }
}

const JSON_MODE = { type: "json_object" };

function formatOf(wish: Extract<FormatWish, { type: "json_schema" }>): Encodable {
  return { type: "json_schema", ...describeFormat(wish) };
}
