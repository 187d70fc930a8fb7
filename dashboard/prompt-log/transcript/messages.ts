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
  let message: Json = {};
  for (const event of events) {
    const index = typeof event["index"] === "number" ? event["index"] : 0;
    const { type, delta } = event;
    if (type === "message_start" && isObject(event["message"])) message = event["message"];
    else if (type === "content_block_start" && isObject(event["content_block"])) blocks.set(index, { ...event["content_block"] });
    else if (type === "message_delta" && isObject(delta)) message = withEnd(message, delta, event["usage"]);
    else if (type === "content_block_delta" && isObject(delta)) {
      const block = blocks.get(index) ?? {};
      blocks.set(index, block);
      for (const name of ["text", "thinking"])
        if (typeof delta[name] === "string") block[name] = asText(block[name]) + delta[name];
      if (typeof delta["partial_json"] === "string") inputs.set(index, (inputs.get(index) ?? "") + delta["partial_json"]);
    }
  }
  for (const [index, written] of inputs) blocks.set(index, { ...blocks.get(index), input: parseObject(written) ?? written });
  return { ...message, content: [...blocks.values()] };
}

function withEnd(message: Json, delta: Json, usage: unknown): Json {
  const before = isObject(message["usage"]) ? message["usage"] : {};
  return { ...message, ...delta, usage: { ...before, ...(isObject(usage) ? usage : {}) } };
}
