import { ExcessiveStructure, type EmbeddedJson } from "../../protocol/json/bounds.ts";
import { isObject, type JsonObject } from "../../protocol/json/object.ts";

/** The text inside `_raw`, if the gateway put it there: a server gets its own arguments back. Null for any other input. */
export function unwrapRawArguments(input: JsonObject, embedded: EmbeddedJson): string | null {
  const names = Object.keys(input);
  const raw = input["_raw"];
  return names.length === 1 && typeof raw === "string" && !isObject(parseRaw(raw, embedded)) ? raw : null;
}

/** An input too large to be read counts as an object: it is left as it is. */
function parseRaw(text: string, embedded: EmbeddedJson): unknown {
  try {
    return embedded.parse(text);
  } catch (error) {
    return error instanceof ExcessiveStructure ? {} : undefined;
  }
}
