import type { Profile } from "../../../contract/profile.ts";
import { fieldError } from "../conversation/field-path.ts";
import { schemaInstruction } from "../conversation/schema-instruction.ts";
import type { Tool } from "../conversation/tool.ts";
import type { FormatWish } from "../conversation/wish.ts";
import { outputSchema } from "./output-schema.ts";
import type { Block } from "./wire-block.ts";

/** How the answer's form is requested; null parts are not needed. */
export interface ResponseFormat {
  /** `output_config.format`. */
  format: Block | null;
  /** A last block of the system prompt. */
  instruction: Block | null;
  /** The tool that the model must call: its input is the answer (profile flag `jsonSchema: tool`). */
  tool: Tool | null;
}

export interface FormatFacts {
  jsonSchema: Profile["jsonSchema"];
  /** May the model call one of the client's tools? */
  hasTools: boolean;
  /** Tool names that are taken. */
  names: readonly string[];
}

const NO_FORMAT: ResponseFormat = { format: null, instruction: null, tool: null };
const JSON_ONLY = "Respond with a single JSON object and nothing else.";
const TOOL_NAME = "answer_in_json";

/** @throws GatewayError `invalid_request` for a schema that this server supports only by a tool, if that is not possible. */
export function writeFormat(wish: FormatWish | null, facts: FormatFacts): ResponseFormat {
  if (wish === null) return NO_FORMAT;
  if (wish.type === "json_object") return { ...NO_FORMAT, instruction: { type: "text", text: JSON_ONLY } };
  switch (facts.jsonSchema) {
    case "native":
      return { ...NO_FORMAT, format: { type: "json_schema", schema: outputSchema(wish.schema, wish.schemaAt) } };
    case "json_object":
    case "instruct":
      return { ...NO_FORMAT, instruction: { type: "text", text: schemaInstruction(wish.schema) } };
    case "tool":
      return { ...NO_FORMAT, tool: answerTool(wish, facts) };
  }
}

/** Requiring one tool gives exactly one object of its schema: with others, or another type, it would not. */
function answerTool(
  { schema, parsed, at, schemaAt }: Extract<FormatWish, { type: "json_schema" }>,
  { hasTools, names }: FormatFacts,
): Tool {
  if (hasTools) throw fieldError(at, " can't be used together with tools on this model. Leave one of them out.");
  if (parsed["type"] !== "object") throw fieldError(schemaAt, " must be of type object for this model. Wrap it in an object.");
  const name = Array.from({ length: names.length + 1 }, (_, index) => (index === 0 ? TOOL_NAME : `${TOOL_NAME}_${index}`)).find(
    (candidate) => !names.includes(candidate),
  );
  return {
    kind: "function",
    name: name ?? TOOL_NAME,
    description: "Gives the answer.",
    schema: { text: schema, parsed },
    strict: false,
    cache: null,
  };
}
