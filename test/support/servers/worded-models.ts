import type { IncomingMessage, ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import type { Protocol } from "../../../contract/protocol.ts";
import { encodeSseEvent } from "../../../extproc/protocol/sse.ts";

/** What a model server is to say, piece by piece, in the protocol of its request. */
export interface Words {
  pieces: readonly string[];
  kind?: "text" | "reasoning" | "arguments";
  /** Before each piece. */
  afterMs?: number;
  /** It answers with one document, even if a stream is asked for. */
  isWhole?: boolean;
  /** It breaks off behind its last piece. */
  breaks?: boolean;
  /** Its piece is out, or waits in its own buffers. The next one waits for this. @param index counts from 0. */
  onPiece?: (index: number) => void | Promise<void>;
}

export const USAGE = { input: 5, output: 40 };

/** Answers a request of any protocol, streamed or not. */
export async function say(request: IncomingMessage, response: ServerResponse, body: string, words: Words): Promise<void> {
  const protocol = protocolOf(request.url ?? "");
  const { pieces, kind = "text", afterMs = 0, breaks = false } = words;
  if (words.isWhole === true || !body.includes('"stream":true')) {
    await sleep(afterMs);
    response.writeHead(200, { "content-type": "application/json" });
    return void response.end(JSON.stringify(WHOLE[protocol](pieces.join(""), kind)));
  }
  response.writeHead(200, { "content-type": "text/event-stream" });
  const stream = STREAMS[protocol](kind, pieces.join(""));
  response.write(stream.opening);
  for (const [index, piece] of pieces.entries()) {
    if (afterMs > 0) await sleep(afterMs);
    if (response.closed) return;
    if (!response.write(stream.piece(piece))) await drained(response);
    await words.onPiece?.(index);
  }
  if (breaks) return void response.destroy();
  response.end(stream.closing);
}

async function drained(response: ServerResponse): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  response.once("drain", resolve).once("close", resolve);
  await promise;
  response.off("drain", resolve).off("close", resolve);
}

function protocolOf(path: string): Protocol {
  if (path.endsWith("/messages")) return "messages";
  return path.endsWith("/responses") ? "responses" : "chat";
}

type Kind = NonNullable<Words["kind"]>;

const CALL = { id: "call_1", name: "look" };
const CHAT_USAGE = { prompt_tokens: USAGE.input, completion_tokens: USAGE.output, total_tokens: USAGE.input + USAGE.output };
const PLAIN_USAGE = { input_tokens: USAGE.input, output_tokens: USAGE.output };
const RESPONSE_USAGE = { ...PLAIN_USAGE, total_tokens: USAGE.input + USAGE.output };

const WHOLE = {
  chat: (text: string, kind: Kind) => ({
    id: "c",
    object: "chat.completion",
    created: 1,
    model: "m",
    choices: [{ index: 0, message: chatMessage(text, kind), finish_reason: kind === "arguments" ? "tool_calls" : "stop" }],
    usage: CHAT_USAGE,
  }),
  messages: (text: string, kind: Kind) => ({
    id: "msg_1",
    type: "message",
    role: "assistant",
    model: "m",
    content: messageContent(text, kind),
    stop_reason: kind === "arguments" ? "tool_use" : "end_turn",
    stop_sequence: null,
    usage: PLAIN_USAGE,
  }),
  responses: (text: string, kind: Kind) => ({
    id: "resp_1",
    object: "response",
    created_at: 1,
    status: "completed",
    model: "m",
    instructions: "Forbidden words are forbidden.",
    output: [itemOf(text, kind)],
    usage: RESPONSE_USAGE,
  }),
};

function chatMessage(text: string, kind: Kind): object {
  if (kind === "text") return { role: "assistant", content: text };
  if (kind === "reasoning") return { role: "assistant", content: "So.", reasoning_content: text };
  const call = { id: CALL.id, type: "function", function: { name: CALL.name, arguments: JSON.stringify({ at: text }) } };
  return { role: "assistant", content: null, tool_calls: [call] };
}

function messageContent(text: string, kind: Kind): object[] {
  if (kind === "text") return [{ type: "text", text }];
  if (kind === "reasoning")
    return [
      { type: "thinking", thinking: text, signature: "c2ln" },
      { type: "text", text: "So." },
    ];
  return [{ type: "tool_use", id: CALL.id, name: CALL.name, input: { at: text } }];
}

function itemOf(text: string, kind: Kind): object {
  if (kind === "text")
    return {
      type: "message",
      id: "i",
      role: "assistant",
      status: "completed",
      content: [{ type: "output_text", text, annotations: [] }],
    };
  if (kind === "reasoning") return { type: "reasoning", id: "i", summary: [{ type: "summary_text", text }] };
  return {
    type: "function_call",
    id: "i",
    call_id: CALL.id,
    name: CALL.name,
    status: "completed",
    arguments: JSON.stringify({ at: text }),
  };
}

interface Stream {
  opening: string;
  piece(text: string): string;
  closing: string;
}

/** Of arguments, the JSON around the text comes with the opening and the closing. */
const STREAMS = {
  chat(kind: Kind): Stream {
    const head = { id: "c", object: "chat.completion.chunk", created: 1, model: "m" };
    const chunk = (delta: object, finish_reason: string | null = null) =>
      encodeSseEvent(null, JSON.stringify({ ...head, choices: [{ index: 0, delta, finish_reason }] }));
    const call = (more: object) => chunk({ tool_calls: [{ index: 0, ...more }] });
    const opened = call({ id: CALL.id, type: "function", function: { name: CALL.name, arguments: '{"at":"' } });
    const pieces = {
      text: (content: string) => chunk({ content }),
      reasoning: (reasoning_content: string) => chunk({ reasoning_content }),
      arguments: (text: string) => call({ function: { arguments: text } }),
    };
    const usage = encodeSseEvent(null, JSON.stringify({ ...head, choices: [], usage: CHAT_USAGE }));
    return {
      opening: chunk({ role: "assistant", content: "" }) + (kind === "arguments" ? opened : ""),
      piece: pieces[kind],
      closing:
        (kind === "arguments" ? call({ function: { arguments: '"}' } }) : "") +
        (kind === "reasoning" ? chunk({ content: "So." }) : "") +
        chunk({}, kind === "arguments" ? "tool_calls" : "stop") +
        usage +
        encodeSseEvent(null, "[DONE]"),
    };
  },
  messages(kind: Kind): Stream {
    const event = (type: string, members: object) => encodeSseEvent(type, JSON.stringify({ type, ...members }));
    const delta = (members: object) => event("content_block_delta", { index: 0, delta: members });
    const starts = {
      text: { type: "text", text: "" },
      reasoning: { type: "thinking", thinking: "", signature: "" },
      arguments: { type: "tool_use", id: CALL.id, name: CALL.name, input: {} },
    };
    const pieces = {
      text: (text: string) => delta({ type: "text_delta", text }),
      reasoning: (thinking: string) => delta({ type: "thinking_delta", thinking }),
      arguments: (partial_json: string) => delta({ type: "input_json_delta", partial_json }),
    };
    const message = {
      ...WHOLE.messages("", "text"),
      content: [],
      stop_reason: null,
      usage: { ...PLAIN_USAGE, output_tokens: 1 },
    };
    return {
      opening:
        event("message_start", { message }) +
        event("content_block_start", { index: 0, content_block: starts[kind] }) +
        (kind === "arguments" ? pieces.arguments('{"at":"') : ""),
      piece: pieces[kind],
      closing:
        (kind === "arguments" ? pieces.arguments('"}') : "") +
        (kind === "reasoning" ? delta({ type: "signature_delta", signature: "c2ln" }) : "") +
        event("content_block_stop", { index: 0 }) +
        event("message_delta", {
          delta: { stop_reason: kind === "arguments" ? "tool_use" : "end_turn", stop_sequence: null },
          usage: PLAIN_USAGE,
        }) +
        event("message_stop", {}),
    };
  },
  responses(kind: Kind, text: string): Stream {
    let number = 0;
    const event = (type: string, members: object) =>
      encodeSseEvent(type, JSON.stringify({ type, sequence_number: number++, ...members }));
    const response = WHOLE.responses(text, kind);
    const begun = { ...response, status: "in_progress", output: [], usage: null };
    const at = { item_id: "i", output_index: 0, ...(kind === "reasoning" ? { summary_index: 0 } : { content_index: 0 }) };
    const names = {
      text: "response.output_text",
      reasoning: "response.reasoning_summary_text",
      arguments: "response.function_call_arguments",
    };
    const whole = kind === "arguments" ? { arguments: JSON.stringify({ at: text }) } : { text };
    const part = kind === "text" ? { type: "output_text", text: "", annotations: [] } : { type: "summary_text", text: "" };
    const parts = { text: "response.content_part.added", reasoning: "response.reasoning_summary_part.added" };
    const empty =
      kind === "arguments" ? { ...itemOf("", kind), arguments: "" } : { ...itemOf("", kind), content: [], summary: [] };
    const piece = (delta: string) => event(`${names[kind]}.delta`, { ...at, delta });
    return {
      opening:
        event("response.created", { response: begun }) +
        event("response.output_item.added", { output_index: 0, item: empty }) +
        (kind === "arguments" ? piece('{"at":"') : event(parts[kind], { ...at, part })),
      piece,
      get closing() {
        return (
          (kind === "arguments" ? piece('"}') : "") +
          event(`${names[kind]}.done`, { ...at, ...whole }) +
          event("response.output_item.done", { output_index: 0, item: itemOf(text, kind) }) +
          event("response.completed", { response })
        );
      },
    };
  },
};

/** An answer that does not end. */
export function flood(response: ServerResponse): void {
  response.writeHead(200, { "content-type": "application/json" });
  const more = () => {
    while (!response.closed && response.write(Buffer.alloc(64 * 1024, " ")));
    if (!response.closed) response.once("drain", more);
  };
  more();
}
