import { GatewayError } from "../../../contract/errors.ts";
import type { Profile } from "../../../contract/profile.ts";
import type { ChatRequest } from "../../protocol/chat/request.ts";
import { RawJson } from "../../protocol/json/raw.ts";
import { rawMember } from "../../protocol/json/scan.ts";
import { schemaInstruction } from "../conversation/schema-instruction.ts";
import type { Block } from "./block.ts";
import type { OfferedTool } from "./tools.ts";

/** How the answer's form is asked for; null parts are not needed. */
export interface AnswerFormat {
  /** `output_config.format`. */
  format: Block | null;
  /** A last block of the system prompt. */
  instruction: Block | null;
  /** The tool that the model must call: its input is the answer (profile flag `jsonSchema: tool`). */
  tool: OfferedTool | null;
}

/** The form that the client asks for. */
export type FormatWish =
  | { type: "json_object" }
  /** The schema as written and as parsed; for errors, where the wish and its schema stand. */
  | { type: "json_schema"; schema: RawJson; parsed: Readonly<Record<string, unknown>>; field: string; schemaField: string };

export interface AnswerFormatFacts {
  jsonSchema: Profile["jsonSchema"];
  /** May the model call one of the client's tools? */
  hasTools: boolean;
  /** Tool names that are taken. */
  names: readonly string[];
}

const NO_FORMAT: AnswerFormat = { format: null, instruction: null, tool: null };
const JSON_ONLY = "Respond with a single JSON object and nothing else.";
const TOOL_NAME = "answer_in_json";

/** @param body the request as written: the schema goes on as the client wrote it. */
export function readFormatWish({ response_format: wanted }: ChatRequest, body: Buffer): FormatWish | null {
  if (wanted?.type === "json_object") return { type: "json_object" };
  if (wanted?.type !== "json_schema") return null;
  const written = rawMember(rawMember(rawMember(body, "response_format"), "json_schema"), "schema");
  return {
    type: "json_schema",
    schema: new RawJson(written?.toString("utf8") ?? "{}"),
    parsed: wanted.json_schema.schema,
    field: "response_format",
    schemaField: "response_format.json_schema.schema",
  };
}

/** @throws GatewayError `invalid_request` for a schema that this server could only be asked for by a tool, and can't be. */
export function planAnswerFormat(wish: FormatWish | null, facts: AnswerFormatFacts): AnswerFormat {
  if (wish === null) return NO_FORMAT;
  if (wish.type === "json_object") return { ...NO_FORMAT, instruction: { type: "text", text: JSON_ONLY } };
  switch (facts.jsonSchema) {
    case "native":
      return { ...NO_FORMAT, format: { type: "json_schema", schema: wish.schema } };
    case "json_object":
    case "instruct":
      return { ...NO_FORMAT, instruction: { type: "text", text: schemaInstruction(wish.schema) } };
    case "tool":
      return { ...NO_FORMAT, tool: answerTool(wish, facts) };
  }
}

/** One tool that must be called gives exactly one object of its schema: with others, or another type, it would not. */
function answerTool(
  { schema, parsed, field, schemaField }: Extract<FormatWish, { type: "json_schema" }>,
  { hasTools, names }: AnswerFormatFacts,
): OfferedTool {
  if (hasTools) throw refuse(field, "can't be used together with tools on this model. Leave one of them out");
  if (parsed["type"] !== "object") throw refuse(schemaField, "must be of type object for this model. Wrap it in an object");
  const name = Array.from({ length: names.length + 1 }, (_, index) => (index === 0 ? TOOL_NAME : `${TOOL_NAME}_${index}`)).find(
    (candidate) => !names.includes(candidate),
  );
  return { kind: "function", name: name ?? TOOL_NAME, description: "Gives the answer.", schema, strict: false };
}

function refuse(field: string, sentence: string): GatewayError {
  return new GatewayError("invalid_request", `\`${field}\` ${sentence}.`, { field });
}
