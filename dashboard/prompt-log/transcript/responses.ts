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

/** The response from the events of a stream: of the last one, or of what came if there is none. */
export function assembleResponse(events: readonly Json[]): Json {
  const ending = events.findLast(({ type }) => ENDINGS.has(type));
  if (isObject(ending?.["response"])) return ending["response"];
  const items = new Map<unknown, Json>();
  const texts = new Map<unknown, string>();
  for (const event of events) {
    const { type, output_index: index, item, delta } = event;
    if ((type === "response.output_item.added" || type === "response.output_item.done") && isObject(item)) items.set(index, item);
    if (type === "response.output_item.done") texts.delete(index);
    if ((type === "response.output_text.delta" || type === "response.function_call_arguments.delta") && typeof delta === "string")
      texts.set(index, (texts.get(index) ?? "") + delta);
  }
  return { output: [...items].map(([index, item]) => withText(item, texts.get(index))) };
}

function withText(item: Json, text: string | undefined): Json {
  if (text === undefined) return item;
  return item["type"] === "function_call" ? { ...item, arguments: text } : { ...item, content: [{ type: "output_text", text }] };
}
