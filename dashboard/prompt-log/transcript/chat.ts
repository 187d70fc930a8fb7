import { partsOf, textOfResult } from "./content.ts";
import { argumentsOf, asText, isObject, objectsIn, part, turn, type Json, type Part, type Turn } from "./turn.ts";

/** The messages of a request for chat completions. */
export function readChatRequest(request: Json): Turn[] {
  return objectsIn(request["messages"]).flatMap(readMessage);
}

export function readChatAnswer(answer: Json): Turn[] {
  return objectsIn(answer["choices"]).flatMap(({ message }) => (isObject(message) ? readMessage(message) : []));
}

function readMessage(message: Json): Turn[] {
  const { role, content } = message;
  if (role === "tool" || role === "function")
    return turn(role, [part("tool_result", textOfResult(content), asText(message["tool_call_id"] ?? message["name"]))]);
  const calls = objectsIn(message["tool_calls"]).map(callOf);
  return turn(role, [
    part("reasoning", asText(message["reasoning_content"] ?? message["reasoning"])),
    ...partsOf(content),
    part("text", asText(message["refusal"]), "Refusal"),
    ...calls,
  ]);
}

function callOf(call: Json): Part {
  const named = isObject(call["function"]) ? call["function"] : call;
  return part("tool_call", argumentsOf(named["arguments"] ?? named["input"]), asText(named["name"]));
}

/** One answer from the chunks of a stream. */
export function assembleChat(chunks: readonly Json[]): Json {
  const choices = new Map<number, { message: Record<string, unknown>; finish: unknown; calls: Map<number, Json> }>();
  let usage: unknown = null;
  for (const chunk of chunks) {
    usage = chunk["usage"] ?? usage;
    for (const { index, delta, finish_reason: finish } of objectsIn(chunk["choices"])) {
      const at = typeof index === "number" ? index : 0;
      const choice = choices.get(at) ?? { message: { role: "assistant" }, finish: null, calls: new Map<number, Json>() };
      choices.set(at, choice);
      choice.finish = finish ?? choice.finish;
      if (!isObject(delta)) continue;
      for (const name of ["content", "reasoning_content", "reasoning", "refusal"])
        if (typeof delta[name] === "string") choice.message[name] = asText(choice.message[name]) + delta[name];
      for (const call of objectsIn(delta["tool_calls"])) addCall(choice.calls, call);
    }
  }
  const assembled = [...choices].map(([index, { message, finish, calls }]) => ({
    index,
    message: { ...message, ...(calls.size > 0 && { tool_calls: [...calls.values()] }) },
    finish_reason: finish,
  }));
  return { choices: assembled, usage };
}

function addCall(calls: Map<number, Json>, call: Json): void {
  const index = typeof call["index"] === "number" ? call["index"] : calls.size;
  const before = calls.get(index)?.["function"];
  const named = isObject(call["function"]) ? call["function"] : {};
  const name = asText(isObject(before) ? before["name"] : "") || asText(named["name"]);
  const written = asText(isObject(before) ? before["arguments"] : "") + asText(named["arguments"]);
  calls.set(index, { function: { name, arguments: written } });
}
