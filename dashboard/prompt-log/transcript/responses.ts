import { partsOf, textOfResult } from "./content.ts";
import { argumentsOf, asText, isObject, objectsIn, part, pretty, turn, type Json, type Turn } from "./turn.ts";

/** The instructions and the input of a request for a response. */
export function readResponsesRequest(request: Json): Turn[] {
  const { input } = request;
  const messages = typeof input === "string" ? turn("user", partsOf(input)) : objectsIn(input).flatMap(readItem);
  return [...turn("instructions", partsOf(request["instructions"])), ...messages];
}

export function readResponsesAnswer(response: Json): Turn[] {
  return objectsIn(response["output"]).flatMap(readItem);
}

function readItem(item: Json): Turn[] {
  const { type, role } = item;
  if (type === "message" || role !== undefined) return turn(role ?? "assistant", partsOf(item["content"]));
  if (type === "function_call" || type === "custom_tool_call")
    return turn("assistant", [part("tool_call", argumentsOf(item["arguments"] ?? item["input"]), asText(item["name"]))]);
  if (type === "function_call_output" || type === "custom_tool_call_output")
    return turn("tool", [part("tool_result", textOfResult(item["output"]), asText(item["call_id"]))]);
  if (type === "reasoning") {
    const texts = [...objectsIn(item["summary"]), ...objectsIn(item["content"])].map(({ text }) => asText(text));
    return turn("assistant", [part("reasoning", texts.join("\n"))]);
  }
  return turn("assistant", [part("other", pretty(item), asText(type) || null)]);
}

const ENDINGS: ReadonlySet<unknown> = new Set(["response.completed", "response.incomplete", "response.failed"]);

/** The response from the events of a stream: of the last one, or of what came if that has nothing. */
export function assembleResponse(events: readonly Json[]): Json {
  const response = events.findLast(({ type }) => ENDINGS.has(type))?.["response"];
  if (!isObject(response)) return { output: assembleItems(events) };
  return objectsIn(response["output"]).length > 0 ? response : { ...response, output: assembleItems(events) };
}

function assembleItems(events: readonly Json[]): Json[] {
  const items = new Map<unknown, Json>();
  const texts = new Map<unknown, string>();
  for (const event of events) {
    const { type, item, item_id: id, delta } = event;
    // Servers that number no items name them; calls by their own ids.
    const index = event["output_index"] ?? id ?? (isObject(item) ? (item["id"] ?? item["call_id"]) : undefined);
    if ((type === "response.output_item.added" || type === "response.output_item.done") && isObject(item)) items.set(index, item);
    if (type === "response.output_item.done") texts.delete(index);
    if (
      (type === "response.output_text.delta" || type === "response.function_call_arguments.delta") &&
      typeof delta === "string"
    ) {
      texts.set(index, (texts.get(index) ?? "") + delta);
      if (!items.has(index)) items.set(index, { type: "message" });
    }
  }
  return [...items].map(([index, item]) => withText(item, texts.get(index)));
}

function withText(item: Json, text: string | undefined): Json {
  if (text === undefined) return item;
  return item["type"] === "function_call" ? { ...item, arguments: text } : { ...item, content: [{ type: "output_text", text }] };
}
