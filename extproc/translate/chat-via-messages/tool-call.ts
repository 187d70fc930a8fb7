import { GatewayError } from "../../../contract/errors.ts";
import { ExcessiveStructure, tooMuchStructure, type EmbeddedJson } from "../../protocol/json/bounds.ts";
import { isObject } from "../../protocol/json/object.ts";
import { RawJson } from "../../protocol/json/raw.ts";

export interface ArgumentsContext {
  /** Where they stand in the request. */
  field: string;
  /** Of the whole request. */
  embedded: EmbeddedJson;
}

/**
 * The arguments of an earlier tool call as the object that messages wants, verbatim where they are one. What is
 * no JSON object is kept whole under `_raw`: the model sees what it wrote.
 *
 * @throws GatewayError `invalid_request` when arguments sent as an object are nested too deeply to be written, or those of all
 * calls together have more structure than is read.
 */
export function translateArguments(value: unknown, { field, embedded }: ArgumentsContext): RawJson {
  if (value === undefined || value === null) return new RawJson("{}");
  if (typeof value !== "string") return new RawJson(stringify(isObject(value) ? value : { _raw: value }, field));
  if (value.trim() === "") return new RawJson("{}");
  const parse = (text: string) => parseOrUndefined(text, { field, embedded });
  const parsed = parse(value);
  if (isObject(parsed)) return new RawJson(value);
  // Some clients encode twice.
  if (typeof parsed === "string" && isObject(parse(parsed))) return new RawJson(parsed);
  return new RawJson(JSON.stringify({ _raw: value }));
}

function parseOrUndefined(text: string, { field, embedded }: ArgumentsContext): unknown {
  try {
    return embedded.parse(text);
  } catch (error) {
    if (error instanceof ExcessiveStructure) throw tooMuchStructure(error, field);
    // Models cut off by max_tokens leave half of a JSON text; it goes on as text.
    return undefined;
  }
}

function stringify(value: unknown, field: string): string {
  try {
    return JSON.stringify(value);
  } catch (cause) {
    throw new GatewayError("invalid_request", `\`${field}\` is nested too deeply. Send it as a string that holds the JSON.`, {
      field,
      cause,
    });
  }
}
