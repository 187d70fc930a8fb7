import * as z from "zod";
import { createMeter } from "../../../../../extproc/meter/meter.ts";
import { createTranslation } from "../../../../../extproc/translate/choose.ts";
import { inputFor } from "../input.ts";

/** A Responses stream of a server that speaks the protocol in full, for tests that leave something out of it. */
export type Json = Record<string, unknown>;

export const REQUEST = { model: "m", input: "hi", stream: true };

export interface Event extends Json {
  type: string;
  item?: Json;
  response?: Json & { output?: Json[] };
}

export const BARE_USAGE = { input_tokens: 7, output_tokens: 4 };
export const WHOLE_USAGE = {
  ...BARE_USAGE,
  input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: 11,
};

/** A whole stream in proper form: a text, and a call. */
export function events(): Event[] {
  const response = (status: string, output: Json[]) => ({
    id: "resp_1",
    object: "response",
    created_at: 1,
    status,
    model: "m",
    output,
    usage: status === "completed" ? WHOLE_USAGE : null,
  });
  const text = { type: "output_text", text: "Good day.", annotations: [] };
  const message = (content: Json[]) => ({ id: "msg_1", type: "message", role: "assistant", content });
  const call = (written: string) => ({
    id: "fc_1",
    type: "function_call",
    call_id: "call_1",
    name: "weather",
    arguments: written,
  });
  const ofPart = { item_id: "msg_1", output_index: 0, content_index: 0 };
  const ofCall = { item_id: "fc_1", output_index: 1 };
  return [
    { type: "response.created", response: response("in_progress", []) },
    { type: "response.output_item.added", output_index: 0, item: message([]) },
    { type: "response.content_part.added", ...ofPart, part: { ...text, text: "" } },
    ...["Good ", "day."].map((delta) => ({ type: "response.output_text.delta", ...ofPart, delta, logprobs: [] })),
    { type: "response.output_text.done", ...ofPart, text: "Good day.", logprobs: [] },
    { type: "response.content_part.done", ...ofPart, part: text },
    { type: "response.output_item.done", output_index: 0, item: message([text]) },
    { type: "response.output_item.added", output_index: 1, item: call("") },
    { type: "response.function_call_arguments.delta", ...ofCall, delta: '{"city":"Oslo"}' },
    { type: "response.function_call_arguments.done", ...ofCall, arguments: '{"city":"Oslo"}' },
    { type: "response.output_item.done", output_index: 1, item: call('{"city":"Oslo"}') },
    { type: "response.completed", response: response("completed", [message([text]), call('{"city":"Oslo"}')]) },
  ].map((event, at) => ({ ...event, sequence_number: at }));
}

/** As a server sends them. */
export const write = (all: readonly Event[]) =>
  all.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("");

/** Of a complete response, what the client gets. */
export function complete(answer: string, promptTokens = 1): string {
  const input = inputFor({ ...REQUEST, stream: false }, { upstream: "responses", upstreamModel: "m" });
  return createTranslation("responses", input).response(Buffer.from(answer), createMeter(promptTokens)).toString();
}

const deltaSchema = z.looseObject({ type: z.string(), delta: z.string().optional() });

/** What a client has that reads the pieces alone. */
export function readPieces(stream: string): { text: string; arguments: string } {
  const read = [...stream.matchAll(/^data: (.*)$/gm)].map(([, data]) => deltaSchema.parse(JSON.parse(data ?? "")));
  const join = (name: string) => read.flatMap(({ type, delta }) => (type === name ? [delta ?? ""] : [])).join("");
  return { text: join("response.output_text.delta"), arguments: join("response.function_call_arguments.delta") };
}
