import type { Profile } from "../../../contract/profile.ts";
import type { Encodable } from "../../protocol/json/raw.ts";
import { schemaInstruction } from "../conversation/schema-instruction.ts";
import { describeFormat } from "../conversation/describe-format.ts";
import type { FormatWish } from "../conversation/wish.ts";

/** How the answer's form is requested: members of the request, and an instruction if the server does not support schemas. */
export interface ResponseFormat {
  members: { readonly [name: string]: Encodable };
  instruction: string | null;
}

export function writeFormat(wish: FormatWish | null, { jsonSchema }: Profile): ResponseFormat {
  if (wish === null) return { members: {}, instruction: null };
  if (wish.type === "json_object") {
    const isKnown = jsonSchema === "native" || jsonSchema === "json_object";
    return { members: isKnown ? JSON_MODE : {}, instruction: null };
  }
  switch (jsonSchema) {
    case "native":
      return { members: { response_format: schemaMember(wish) }, instruction: null };
    case "json_object":
      return { members: JSON_MODE, instruction: schemaInstruction(wish.schema) };
    // A tool instead of a field is for messages servers.
    case "tool":
    case "instruct":
      return { members: {}, instruction: schemaInstruction(wish.schema) };
  }
}

const JSON_MODE = { response_format: { type: "json_object" } };

function schemaMember(wish: Extract<FormatWish, { type: "json_schema" }>): Encodable {
  return { type: "json_schema", json_schema: describeFormat(wish) };
}
