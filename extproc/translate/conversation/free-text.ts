import { ANSWER_BOUNDS, parseWithin } from "../../protocol/json/bounds.ts";

/** The text inside `{"input": …}`, which a custom tool is called with; of an answer that was cut off half of it, as it is. */
export function freeText(input: string): string {
  try {
    const parsed = parseWithin(input, ANSWER_BOUNDS);
    const text = typeof parsed === "object" && parsed !== null ? Reflect.get(parsed, "input") : undefined;
    return typeof text === "string" ? text : input;
  } catch {
    return input;
  }
}
