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
  const blocks: Block[] = [];
  /** The last one of each index: some servers give all the same. */
  const open = new Map<number, Block>();
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
    if (type === "content_block_start" && isObject(event["content_block"])) begin(index, event["content_block"]);
    else if (type === "message_delta" && isObject(delta)) {
      Object.assign(message, delta);
      if (isObject(event["usage"])) Object.assign(usage, event["usage"]);
    } else if (type === "content_block_delta" && isObject(delta)) {
      const block = open.get(index) ?? begin(index, {});
      for (const name of ["text", "thinking"])
        if (typeof delta[name] === "string") block.members[name] = asText(block.members[name]) + delta[name];
      if (typeof delta["partial_json"] === "string") block.input += delta["partial_json"];
    }
  }
  return { ...message, ...(Object.keys(usage).length > 0 && { usage }), content: blocks.map(withInput) };

  function begin(index: number, start: Json): Block {
    const block = { members: { ...start }, input: "" };
    blocks.push(block);
    open.set(index, block);
    return block;
  }
}

interface Block {
  members: Record<string, unknown>;
  /** What its deltas have of a call's input. */
  input: string;
}

function withInput({ members, input }: Block): Json {
  return input === "" ? members : { ...members, input: parseObject(input) ?? input };
}
