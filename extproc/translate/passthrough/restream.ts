import { encodeJson, RawJson, type Encodable } from "../../protocol/json/raw.ts";
import { rawMembers } from "../../protocol/json/raw-members.ts";
import { rawMember, scanElements } from "../../protocol/json/scan.ts";
import { inputText } from "../../protocol/messages/answer-block.ts";
import { encodeSseEvent } from "../../protocol/sse.ts";

/**
 * Complete answers as the streams that would have delivered them, for servers that answer a stream request in JSON. They work on
 * the text as written, so that numbers, servers' own members and their order are preserved.
 */

/** A `chat.completion` as chunks: each choice in one piece, its finish, the usage, `[DONE]`. */
export function chunksOf(completion: Buffer): string {
  const head = rawMembers(completion, ["object", "choices", "usage"]);
  const choices = scanElements(rawMember(completion, "choices") ?? NOTHING);
  const chunk = (choices: Encodable[], more: Members = {}) =>
    encodeSseEvent(null, oneLine(encodeJson({ ...head, object: "chat.completion.chunk", choices, ...more })));
  const usage = rawMember(completion, "usage");
  return [
    ...choices.map((choice) =>
      chunk([{ ...rawMembers(choice, ["message", "finish_reason"]), delta: deltaOf(choice), finish_reason: null }]),
    ),
    ...choices.map((choice) => chunk([{ index: raw(choice, "index"), delta: {}, finish_reason: raw(choice, "finish_reason") }])),
    usage === undefined ? "" : chunk([], { usage: new RawJson(usage.toString("utf8")) }),
    encodeSseEvent(null, "[DONE]"),
  ].join("");
}

/** A message as its events: each block in one piece. */
export function eventsOf(message: Buffer): string {
  const head = rawMembers(message, ["content", "stop_reason", "stop_sequence"]);
  const blocks = scanElements(rawMember(message, "content") ?? NOTHING);
  const delta = { stop_reason: raw(message, "stop_reason"), stop_sequence: raw(message, "stop_sequence") };
  return [
    event("message_start", { message: { ...head, content: [], stop_reason: null, stop_sequence: null } }),
    ...blocks.map((block, index) => blockEvents(block, index)),
    event("message_delta", { delta, usage: raw(message, "usage") ?? {} }),
    event("message_stop", {}),
  ].join("");
}

type Members = Record<string, Encodable>;

const NOTHING = Buffer.alloc(0);

function blockEvents(block: Buffer, index: number): string {
  const { start, deltas } = partsOf(block);
  return [
    event("content_block_start", { index, content_block: start }),
    ...deltas.map((delta) => event("content_block_delta", { index, delta })),
    event("content_block_stop", { index }),
  ].join("");
}

/** What a block begins with, and what follows: the SDKs build text, thinking and input from deltas alone. */
function partsOf(block: Buffer): { start: Encodable; deltas: Members[] } {
  const type = raw(block, "type")?.text ?? "";
  const rest = rawMembers(block, ["text", "thinking", "signature", "input"]);
  const delta = (type: string, name: string) => ({ type, [name]: raw(block, name) ?? "" });
  switch (type) {
    case '"text"':
      return { start: { ...rest, text: "" }, deltas: [delta("text_delta", "text")] };
    case '"thinking"':
      return {
        start: { ...rest, thinking: "", signature: "" },
        deltas: [delta("thinking_delta", "thinking"), delta("signature_delta", "signature")],
      };
    case '"tool_use"':
      return {
        start: { ...rest, input: {} },
        deltas: [{ type: "input_json_delta", partial_json: inputText(rawMember(block, "input")) }],
      };
    default:
      return { start: new RawJson(block.toString("utf8")), deltas: [] };
  }
}

/** A message as a delta: its tool calls get the index that chunks have and complete answers do not. */
function deltaOf(choice: Buffer): Members {
  const message = rawMember(choice, "message") ?? NOTHING;
  const calls = scanElements(rawMember(message, "tool_calls") ?? NOTHING);
  const members = rawMembers(message, ["tool_calls"]);
  return calls.length === 0 ? members : { ...members, tool_calls: calls.map((call, index) => ({ index, ...rawMembers(call) })) };
}

function event(type: string, members: Members): string {
  return encodeSseEvent(type, oneLine(encodeJson({ type, ...members })));
}

function raw(object: Buffer, name: string): RawJson | undefined {
  const value = rawMember(object, name);
  return value === undefined ? undefined : new RawJson(value.toString("utf8"));
}

/** Line breaks of indented JSON occur only between its tokens, and would break an event into lines. */
function oneLine(json: string): string {
  return json.replaceAll(/[\r\n]+/g, " ");
}
