import type { Profile } from "../../../contract/profile.ts";
import { RawJson, type Encodable } from "../../protocol/json/raw.ts";
import type { MessagesRequest } from "../../protocol/messages/request.ts";
import { schemaInstruction } from "../conversation/schema-instruction.ts";
import type { RequestText } from "./request-text.ts";
import { isStrictSchema } from "../conversation/strict-schema.ts";

/** How a response schema is asked for: members of the request, and an instruction where the server knows no schemas. */
export interface ResponseFormat {
  members: { readonly [name: string]: Encodable };
  instruction: string | null;
}

export function translateResponseFormat(request: MessagesRequest, text: RequestText, profile: Profile): ResponseFormat {
  const format = request.output_config?.format ?? request.output_format;
  if (format === null || format === undefined) return { members: {}, instruction: null };
  const path = request.output_config?.format ? ["output_config", "format", "schema"] : ["output_format", "schema"];
  const schema = text.at(path) ?? new RawJson("{}");
  switch (profile.jsonSchema) {
    case "native":
      return { members: { response_format: jsonSchema(format.schema, schema) }, instruction: null };
    case "json_object":
      return { members: { response_format: { type: "json_object" } }, instruction: schemaInstruction(schema) };
    // A tool in place of a field is for messages upstreams.
    case "tool":
    case "instruct":
      return { members: {}, instruction: schemaInstruction(schema) };
  }
}

/** Chat demands a name. A schema with optional properties can't be strict there; it is followed all the same. */
function jsonSchema(parsed: unknown, schema: RawJson): Encodable {
  return { type: "json_schema", json_schema: { name: "response", strict: isStrictSchema(parsed), schema } };
}
