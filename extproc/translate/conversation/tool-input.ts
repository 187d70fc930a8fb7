import { ExcessiveStructure, tooMuchStructure, type EmbeddedJson } from "../../protocol/json/bounds.ts";
import { isObject } from "../../protocol/json/object.ts";
import { RawJson } from "../../protocol/json/raw.ts";
import { fieldError, pathText, type FieldPath } from "./field-path.ts";
import type { ToolInput } from "./turn.ts";

export interface ArgumentsContext {
  at: FieldPath;
  /** Of the whole request. */
  embedded: EmbeddedJson;
}

const NO_ARGUMENTS: ToolInput = { kind: "json", json: new RawJson("{}") };

/**
 * The arguments of an earlier call, which chat and Responses write as JSON text.
 * @throws GatewayError `invalid_request` when arguments sent as an object are nested too deeply to be written, or when all calls
 * together have more structure than is read.
 */
export function readArguments(value: unknown, context: ArgumentsContext): ToolInput {
  if (value === undefined || value === null) return NO_ARGUMENTS;
  if (typeof value !== "string") return { kind: "json", json: new RawJson(stringify(value, context.at)) };
  if (value.trim() === "") return NO_ARGUMENTS;
  const parsed = parseOrUndefined(value, context);
  if (isObject(parsed)) return { kind: "json", json: new RawJson(value) };
  // Some clients encode twice.
  if (typeof parsed === "string" && isObject(parseOrUndefined(parsed, context)))
    return { kind: "json", json: new RawJson(parsed) };
  return { kind: "raw", text: value };
}

/** The arguments as chat and Responses write them: JSON text. */
export function argumentsText(input: ToolInput): string {
  switch (input.kind) {
    case "json":
      return input.json.text;
    case "free_text":
      return JSON.stringify({ input: input.text });
    case "raw":
      return input.text;
  }
}

function parseOrUndefined(text: string, { at, embedded }: ArgumentsContext): unknown {
  try {
    return embedded.parse(text);
  } catch (error) {
    if (error instanceof ExcessiveStructure) throw tooMuchStructure(error, pathText(at));
    // Models cut off by max_tokens leave half of a JSON text; it is forwarded as text.
    return undefined;
  }
}

function stringify(value: unknown, at: FieldPath): string {
  try {
    return JSON.stringify(isObject(value) ? value : { _raw: value });
  } catch (cause) {
    throw fieldError(at, " is nested too deeply. Send it as a string that holds the JSON.", cause);
  }
}
