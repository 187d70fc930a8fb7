import { partsOf } from "./content.ts";
import { asText, isObject, objectsIn, parseObject, turn, type Json, type Turn } from "./turn.ts";

/** The messages of a request in Anthropic's format. */
export function readMessagesRequest(request: Json): Turn[] {
  const messages = objectsIn(request["messages"]);
  return [
    ...turn("system", partsOf(request["system"])),
    ...messages.flatMap(({ role, content }) => turn(role, partsOf(content))),
  ];
}

export function readMessagesAnswer(answer: Json): Turn[] {
  return turn(answer["role"] ?? "assistant", partsOf(answer["content"]));
}

/** One message from the events of a stream. */
export function assembleMessage(events: readonly Json[]): Json {
  const blocks = new Map<number, Record<string, unknown>>();
  const inputs = new Map<number, string>();
  // Changed in place: a stream may have ten thousands of deltas.
  let message: Record<string, unknown> = {};
  let usage: Record<string, unknown> = {};
  for (const event of events) {
    const index = typeof event["index"] === "number" ? event["index"] : 0;
    const { type, delta } = event;
    if (type === "message_start" && isObject(event["message"])) {
      message = { ...event["message"] };
      usage = isObject(message["usage"]) ? { ...message["usage"] } : {};
    }
    if (type === "content_block_start" && isObject(event["content_block"])) blocks.set(index, { ...event["content_block"] });
    else if (type === "message_delta" && isObject(delta)) {
      Object.assign(message, delta);
      if (isObject(event["usage"])) Object.assign(usage, event["usage"]);
    } else if (type === "content_block_delta" && isObject(delta)) {
      const block = blocks.get(index) ?? {};
      blocks.set(index, block);
      for (const name of ["text", "thinking"])
        if (typeof delta[name] === "string") block[name] = asText(block[name]) + delta[name];
      if (typeof delta["partial_json"] === "string") inputs.set(index, (inputs.get(index) ?? "") + delta["partial_json"]);
    }
  }
  for (const [index, written] of inputs) blocks.set(index, { ...blocks.get(index), input: parseObject(written) ?? written });
  return { ...message, ...(Object.keys(usage).length > 0 && { usage }), content: [...blocks.values()] };
}
