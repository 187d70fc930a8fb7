import { create, toBinary, type MessageInitShape } from "@bufbuild/protobuf";
import { ProcessingRequestSchema } from "../../../runtime/gen/envoy/service/ext_proc/v3/external_processor_pb.js";
import { FRAME_HEADER_BYTES } from "../../../runtime/grpc-frame.ts";

/** One kind of request, as Envoy's messages in their frames. */
export interface ExtprocLoad {
  name: string;
  /** Each is sent once the one before it is answered. */
  before: readonly Buffer[];
  /** The answer's body. */
  body: readonly Buffer[];
  /** Between two messages of the body. */
  gapMs: number;
  connections: number;
  requests: number;
}

const CHUNKS = 100;
const PROMPT = "word ".repeat(205);

export function loadsFor(apiKey: string): ExtprocLoad[] {
  const first = event({ delta: { role: "assistant", content: "" }, finish_reason: null });
  const tokens = Array<string>(CHUNKS).fill(event({ delta: { content: " token" }, finish_reason: null }));
  const events = [first, ...tokens, ...ending()];
  const stream = { before: beginning(apiKey, true), connections: 32 };
  return [
    {
      name: "JSON",
      before: beginning(apiKey, false),
      body: [bodyMessage(answer(), true)],
      gapMs: 0,
      connections: 32,
      requests: 6_000,
    },
    // As Envoy passes on what its socket has held.
    { ...stream, name: "stream", body: bodyMessages(events, 30), gapMs: 0, requests: 2_500 },
    { ...stream, name: "slow stream", body: bodyMessages(events, 1), gapMs: 50, connections: 300, requests: 300 },
  ];
}

function beginning(apiKey: string, isStream: boolean): Buffer[] {
  const body = JSON.stringify({
    model: "bench-chat",
    max_tokens: 1000,
    stream: isStream,
    messages: [{ role: "user", content: PROMPT }],
  });
  const request = {
    ":authority": "127.0.0.1:8080",
    ":path": "/v1/chat/completions",
    ":method": "POST",
    ":scheme": "http",
    "user-agent": "Go-http-client/1.1",
    "content-length": String(body.length),
    "content-type": "application/json",
    "x-api-key": apiKey,
    "x-forwarded-proto": "http",
    "x-envoy-external-address": "127.0.0.1",
    "x-request-id": "a89dfe6d-e293-495c-af71-763fcf4cf6ad",
    "x-forwarded-for": "127.0.0.1",
  };
  const response: Record<string, string> = isStream
    ? {
        ":status": "200",
        "content-type": "text/event-stream",
        date: "Fri, 27 Nov 2026 00:50:18 GMT",
        "transfer-encoding": "chunked",
      }
    : { ":status": "200", "content-type": "application/json", date: "Fri, 27 Nov 2026 00:50:18 GMT", "content-length": "901" };
  return [
    framed({ request: { case: "requestHeaders", value: { headers: headerMap(request) } } }),
    framed({ request: { case: "requestBody", value: { body: Buffer.from(body), endOfStream: true } } }),
    framed({
      request: { case: "responseHeaders", value: { headers: headerMap(response) } },
      attributes: { "envoy.filters.http.ext_proc": { "response.code_details": "via_upstream" } },
    }),
  ];
}

const USAGE = { prompt_tokens: 260, completion_tokens: CHUNKS, total_tokens: 260 + CHUNKS };
const ANSWER = { id: "chatcmpl-bench", created: 1_767_225_600, model: "bench-chat" };

function answer(): string {
  const message = { role: "assistant", content: " token".repeat(CHUNKS) };
  const choices = [{ index: 0, message, finish_reason: "stop" }];
  return JSON.stringify({ ...ANSWER, object: "chat.completion", choices, usage: USAGE });
}

function event(choice: object, further: object = {}): string {
  const data = { ...ANSWER, object: "chat.completion.chunk", choices: [{ index: 0, ...choice }], ...further };
  return `data: ${JSON.stringify(data)}\n\n`;
}

function ending(): string[] {
  return [
    event({ delta: {}, finish_reason: "stop" }),
    event({ delta: {}, finish_reason: null }, { usage: USAGE }),
    "data: [DONE]\n\n",
  ];
}

function bodyMessages(events: readonly string[], perMessage: number): Buffer[] {
  const messages: Buffer[] = [];
  for (let from = 0; from < events.length; from += perMessage)
    messages.push(bodyMessage(events.slice(from, from + perMessage).join(""), from + perMessage >= events.length));
  return messages;
}

function bodyMessage(text: string, endOfStream: boolean): Buffer {
  return framed({ request: { case: "responseBody", value: { body: Buffer.from(text), endOfStream } } });
}

function headerMap(headers: Readonly<Record<string, string>>) {
  return { headers: Object.entries(headers).map(([key, value]) => ({ key, rawValue: Buffer.from(value) })) };
}

function framed(content: MessageInitShape<typeof ProcessingRequestSchema>): Buffer {
  const message = toBinary(ProcessingRequestSchema, create(ProcessingRequestSchema, content));
  const frame = Buffer.alloc(FRAME_HEADER_BYTES + message.length);
  frame.writeUInt32BE(message.length, 1);
  frame.set(message, FRAME_HEADER_BYTES);
  return frame;
}
