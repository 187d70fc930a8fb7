import { ANSWER_BOUNDS, parseWithin } from "../../protocol/json/bounds.ts";
import { isObject } from "../../protocol/json/object.ts";

/**
 * The text that a custom tool is called with. Its server was given a function that takes `{"input": …}`; some models write the
 * text itself instead, which arrives here as `{"_raw": …}`. An answer that was cut off has half of it, unchanged.
 */
export function freeText(input: string): string {
  const parsed = parseOrUndefined(input);
  if (!isObject(parsed)) return input;
  if (typeof parsed["input"] === "string") return parsed["input"];
  const raw = parsed["_raw"];
  if (typeof raw !== "string" || Object.keys(parsed).length > 1) return input;
  const quoted = parseOrUndefined(raw);
  return typeof quoted === "string" ? quoted : raw;
}

function parseOrUndefined(text: string): unknown {
  try {
    return parseWithin(text, ANSWER_BOUNDS);
  } catch {
    return undefined;
  }
}
