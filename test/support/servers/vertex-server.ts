import type { IncomingMessage, ServerResponse } from "node:http";
import { REPORTED_USAGE } from "./cached-usage.ts";
import { makeCompletion, makeCompletionStream } from "./completions.ts";
import { startRecordingUpstream } from "./recording-upstream.ts";

const LOCATION = "/v1/projects/acme/locations/global";
const MODELS = `${LOCATION}/publishers/anthropic/models/`;

const MESSAGE = { id: "msg_vrtx_01", type: "message", role: "assistant", model: "claude-x", stop_sequence: null };
const ANSWER = { ...MESSAGE, content: [{ type: "text", text: "Grüße, 世界" }], stop_reason: "end_turn", usage: REPORTED_USAGE };
const EVENTS = [
  {
    type: "message_start",
    message: { ...MESSAGE, content: [], stop_reason: null, usage: { ...REPORTED_USAGE, output_tokens: 1 } },
  },
  { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
  { type: "ping" },
  { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Grüße, " } },
  { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "世界" } },
  { type: "content_block_stop", index: 0 },
  { type: "message_delta", delta: { stop_reason: "end_turn", stop_sequence: null }, usage: { output_tokens: 12 } },
  { type: "message_stop" },
].map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);

interface VertexRequest {
  path: string;
  headers: IncomingMessage["headers"];
  body: unknown;
}

export interface VertexServer {
  /** Of Gemini's OpenAI-compatible interface, without the last part of the path. */
  readonly openaiUrl: string;
  /** Of Anthropic's models. */
  readonly anthropicUrl: string;
  readonly origin: string;
  readonly asked: VertexRequest[];
  /** Of the next answers to requests with a token; its usual ones without one. */
  answerWith(answer?: (response: ServerResponse) => void): void;
  stop(): Promise<void>;
}

/** Vertex AI: Gemini over chat completions, and Anthropic's models in Vertex's form. Refuses what the real one refuses. */
export async function startVertexServer(isValid: (authorization: string | undefined) => boolean): Promise<VertexServer> {
  const asked: VertexRequest[] = [];
  let answer: ((response: ServerResponse) => void) | undefined;
  const server = await startRecordingUpstream((request, response, text) => {
    const { url: path = "", headers } = request;
    const body: Record<string, unknown> = JSON.parse(text);
    asked.push({ path, headers, body });
    if (!isValid(headers.authorization)) return answerGoogleError(response, { code: 401, message: "Invalid credentials." });
    if (answer !== undefined) return answer(response);
    if (!path.startsWith(MODELS)) return answerCompletion(response, body["stream"] === true);
    const [model = "", method = ""] = path.slice(MODELS.length).split(":");
    const problem = problemOf(headers, body, { model, method });
    if (problem !== null) return answerGoogleError(response, { code: 400, message: problem });
    if (model === "count-tokens") return answerJson(response, 200, { input_tokens: 33 });
    if (method === "rawPredict") return answerJson(response, 200, ANSWER);
    answerEvents(response, EVENTS);
  });
  const origin = `http://127.0.0.1:${server.port}`;
  return {
    origin,
    openaiUrl: `${origin}${LOCATION}/endpoints/openapi`,
    anthropicUrl: `${origin}${LOCATION}`,
    asked,
    answerWith: (next) => void (answer = next),
    stop: () => server.stop(),
  };
}

function problemOf(
  headers: IncomingMessage["headers"],
  body: Record<string, unknown>,
  { model, method }: { model: string; method: string },
): string | null {
  const isCount = model === "count-tokens";
  if (body["anthropic_version"] !== "vertex-2023-10-16") return "anthropic_version";
  if (headers["anthropic-version"] !== undefined) return "the header anthropic-version";
  if (Object.hasOwn(body, "model") !== isCount) return "model";
  if (isCount && headers["anthropic-beta"] !== undefined) return "Unexpected value(s) for the `anthropic-beta` header.";
  return (body["stream"] === true) === (method === "streamRawPredict") ? null : "stream";
}

function answerCompletion(response: ServerResponse, isStream: boolean): void {
  response.writeHead(200, { "content-type": isStream ? "text/event-stream" : "application/json" });
  response.end(isStream ? makeCompletionStream() : makeCompletion());
}

function answerJson(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { "content-type": "application/json; charset=UTF-8" }).end(JSON.stringify(body));
}

function answerEvents(response: ServerResponse, events: readonly string[]): void {
  response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8" }).end(events.join(""));
}

/** In Google's form, which is a list where a stream was asked for. */
export function answerGoogleError(response: ServerResponse, error: { code: number; message: string }): void {
  const body = { error: { ...error, status: "SOME_STATUS" } };
  response.writeHead(error.code, { "content-type": "application/json" }).end(JSON.stringify([body]));
}

/** In Anthropic's form. */
export function answerAnthropicError(response: ServerResponse, status: number, error: { type: string; message: string }): void {
  answerJson(response, status, { type: "error", error, request_id: "req_vrtx_01" });
}

/** A stream that ends with Anthropic's error after some text. */
export function answerBrokenStream(response: ServerResponse): void {
  const error = { type: "error", error: { type: "overloaded_error", message: "Overloaded" } };
  answerEvents(response, [...EVENTS.slice(0, 4), `event: error\ndata: ${JSON.stringify(error)}\n\n`]);
}
