import { isObject } from "../protocol/json/object.ts";
import type { JsonObject } from "./translation.ts";

/** What a chat answer says, whole or a chunk of it, for the meter: text, reasoning, tool arguments. */
export function chatOutput(json: JsonObject): string[] {
  return objectsIn(json["choices"]).flatMap((choice) => {
    const said = choice["delta"] ?? choice["message"];
    if (!isObject(said)) return [];
    const calls = objectsIn(said["tool_calls"]).flatMap((call) => [argumentsOf(call["function"]), argumentsOf(call["custom"])]);
    // Servers that send both spellings of reasoning send the same text twice.
    const reasoning = said["reasoning_content"] ?? said["reasoning"];
    return [said["content"], reasoning, said["refusal"], argumentsOf(said["function_call"]), ...calls].filter(isText);
  });
}

/** What a content block of a messages answer, or a delta to one, says. */
export function messagesOutput(holder: unknown): string[] {
  if (!isObject(holder)) return [];
  const input = holder["input"];
  const written = isObject(input) && Object.keys(input).length > 0 ? [inputText(input)] : [];
  return [...[holder["text"], holder["thinking"], holder["partial_json"]].filter(isText), ...written];
}

/** The objects of an array; none when it is no array. */
export function objectsIn(value: unknown): JsonObject[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

function argumentsOf(call: unknown): unknown {
  return isObject(call) ? (call["arguments"] ?? call["input"]) : undefined;
}

/** Its length is all that matters, so input too deep to be written counts as short. */
function inputText(input: JsonObject): string {
  try {
    return JSON.stringify(input);
  } catch {
    return "{}";
  }
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}
