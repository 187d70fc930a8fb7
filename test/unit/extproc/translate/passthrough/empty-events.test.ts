import { describe, expect, test } from "vitest";
import { CHAT, chunk, DONE, FINISH, play } from "./play.ts";

/** What SDKs dispatch as an event, and then throw at. */
const MESSAGES = { model: "m", max_tokens: 10, messages: [{ role: "user", content: "hi" }], stream: true };
const message = { id: "msg_1", type: "message", role: "assistant", model: "m", content: [], usage: { input_tokens: 1 } };
const response = { id: "resp_1", object: "response", created_at: 1, status: "in_progress", model: "m", output: [] };
const usage = {
  input_tokens: 1,
  input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
  output_tokens: 1,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: 2,
};
const write = (events: readonly { type: string; [member: string]: unknown }[]) =>
  events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("");

const STREAMS = {
  chat: { request: CHAT, stream: `${chunk({ content: "Good day." })}${FINISH}${DONE}` },
  messages: {
    request: MESSAGES,
    stream: write([
      { type: "message_start", message: { ...message, usage: { input_tokens: 1, output_tokens: 0 } } },
      { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { input_tokens: 1, output_tokens: 1 } },
      { type: "message_stop" },
    ]),
  },
  responses: {
    request: { model: "m", input: "hi", stream: true },
    stream: write([
      { type: "response.created", response, sequence_number: 0 },
      { type: "response.completed", response: { ...response, status: "completed", usage }, sequence_number: 1 },
    ]),
  },
} as const;
const PROTOCOLS = ["chat", "messages", "responses"] as const;

function passed(protocol: (typeof PROTOCOLS)[number], stream: string): string[] {
  const bytes = Buffer.from(stream);
  const { request } = STREAMS[protocol];
  return [[bytes], Array.from(bytes, (byte) => Buffer.of(byte))].map((chunks) => play(request, chunks, { protocol }).text);
}

describe.for(PROTOCOLS)("a %s stream", (protocol) => {
  const { stream } = STREAMS[protocol];

  test.for([
    ["data", "data:\n\n"],
    ["white space as data", "data:  \n\n"],
    ["a name", "event: ping\n\n"],
    ["an id", "id: 1\n\n"],
    ["a time to wait", "retry: 3000\r\n\r\n"],
  ])("passes without events that have nothing but %s", ([, empty]) => {
    const [first = "", ...rest] = stream.split(/(?<=\n\n)/);
    expect(passed(protocol, empty + first + empty + rest.join("") + empty)).toEqual([stream, stream]);
  });

  test("passes without a byte order mark, which SDKs for Python take for a part of the first line", () => {
    expect(passed(protocol, `\u{FEFF}${stream}`)).toEqual([stream, stream]);
  });

  test.for(["\n\n", "\n"])("whose last event is open gets its blank line, without which SDKs read nothing: %j", (missing) => {
    expect(passed(protocol, stream.slice(0, -missing.length))).toEqual([stream, stream]);
  });
});
