import { describe, expect, inject, test } from "vitest";
import type { Protocol } from "../../../../../contract/protocol.ts";
import { GatewayError } from "../../../../../contract/errors.ts";
import { createMeter, type MeteredUsage } from "../../../../../extproc/meter/meter.ts";
import { createTranslation } from "../../../../../extproc/translate/choose.ts";
import { statusMeant } from "../../../../../extproc/protocol/aws-error.ts";
import { createTokenCount } from "../../../../../extproc/translate/count-tokens/token-count.ts";
import { encodeChunk, encodeException, encodeMessage, toEventStream } from "../../../../support/wire/event-stream.ts";
import { inputFor } from "../input.ts";

/** Anthropic's models on Bedrock: the request's envelope, and streams compared with Anthropic's own (S51). */

const CLIENTS = ["chat", "messages", "responses"] as const satisfies Protocol[];
const MODEL = "eu.anthropic.claude-v1:0";

const REQUESTS = {
  chat: { model: "m", max_tokens: 100, stream: true, messages: [{ role: "user", content: "Hi." }] },
  messages: { model: "m", max_tokens: 100, stream: true, messages: [{ role: "user", content: "Hi." }] },
  responses: { model: "m", max_output_tokens: 100, stream: true, input: "Hi." },
} as const satisfies Record<Protocol, object>;

interface TranslateOptions {
  platform?: "bedrock" | null;
  headers?: Record<string, string>;
  /** Further members of the request. */
  [member: string]: unknown;
}

function translate(client: Protocol, { platform = "bedrock", headers = {}, ...more }: TranslateOptions = {}) {
  const input = inputFor({ ...REQUESTS[client], ...more }, { upstream: "messages", upstreamModel: MODEL, headers });
  const backend = { ...input.backend, ...(platform === null ? {} : { platform }) };
  return createTranslation(client, { ...input, backend });
}

const MESSAGE = { id: "msg_1", type: "message", role: "assistant", model: "claude", content: [], stop_reason: null };
const EVENTS = [
  { type: "message_start", message: { ...MESSAGE, usage: { input_tokens: 9, output_tokens: 1, cache_read_input_tokens: 4 } } },
  { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
  { type: "ping" },
  { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Grüße, " } },
  { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "世界 🙂" } },
  { type: "content_block_stop", index: 0 },
  { type: "content_block_start", index: 1, content_block: { type: "tool_use", id: "toolu_1", name: "f", input: {} } },
  { type: "content_block_delta", index: 1, delta: { type: "input_json_delta", partial_json: '{"a":' } },
  { type: "content_block_delta", index: 1, delta: { type: "input_json_delta", partial_json: "1}" } },
  { type: "content_block_stop", index: 1 },
  { type: "message_delta", delta: { stop_reason: "tool_use", stop_sequence: null }, usage: { output_tokens: 12 } },
  { type: "message_stop" },
];
const SSE = EVENTS.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("");
const FRAMES = toEventStream(SSE);

interface Played {
  text: string;
  outcome: string;
  metered: MeteredUsage;
}

function play(client: Protocol, chunks: readonly Buffer[], options: { platform?: null } = {}): Played {
  const meter = createMeter(10);
  const stream = translate(client, options).stream(meter);
  const output = chunks.map((chunk) => {
    const pushed = stream.push(chunk);
    return pushed === "unchanged" ? chunk : pushed;
  });
  output.push(stream.end());
  return { text: Buffer.concat(output).toString("utf8"), outcome: stream.outcome(), metered: meter.final() };
}

describe("requests", () => {
  test.for(CLIENTS)("of %s name the model in the path alone", (client) => {
    const { path, body, headers } = translate(client).upstream;
    expect(path).toBe("/model/eu.anthropic.claude-v1:0/invoke-with-response-stream");
    expect(headers).toEqual({ accept: "application/vnd.amazon.eventstream" });
    const sent: unknown = JSON.parse(body.toString());
    expect(sent).toMatchObject({ anthropic_version: "bedrock-2023-05-31", max_tokens: 100 });
    for (const name of ["model", "stream", "anthropic_beta"]) expect(sent).not.toHaveProperty(name);
    expect(translate(client, { stream: false }).upstream).toMatchObject({
      path: "/model/eu.anthropic.claude-v1:0/invoke",
      headers: { accept: "application/json" },
    });
  });

  test("have betas in the body, those of the header alone", () => {
    const betas = ["context-1m-2025-08-07"];
    const sent = (more: TranslateOptions): unknown => JSON.parse(translate("messages", more).upstream.body.toString());
    expect(sent({ headers: { "anthropic-beta": "a-1, b-2" } })).toMatchObject({ anthropic_beta: ["a-1", "b-2"] });
    expect(sent({ headers: { "anthropic-beta": `a-1,${betas[0]}` }, anthropic_beta: betas })).toMatchObject({
      anthropic_beta: ["a-1"],
    });
    expect(sent({ anthropic_beta: betas })).not.toHaveProperty("anthropic_beta");
    expect(sent({ anthropic_version: "vertex-2023-10-16" })).toMatchObject({ anthropic_version: "bedrock-2023-05-31" });
  });

  test("for a count of tokens are not sent: the gateway estimates", () => {
    const { body, headers, backend } = inputFor(REQUESTS.messages, { upstream: "messages" });
    const count = createTokenCount({ body, headers, backend: { ...backend, platform: "bedrock" } });
    expect(count.upstream).toBeNull();
    expect(count.estimate().input_tokens).toBeGreaterThan(0);
  });
});

describe.for(CLIENTS)("a stream for a client of %s", (client) => {
  const expected = play(client, [Buffer.from(SSE)], { platform: null });
  const bytes = Buffer.concat(FRAMES);

  test("is what Anthropic's own would be, with the same usage", () => {
    expect(play(client, FRAMES)).toEqual(expected);
    expect(play(client, [bytes])).toEqual(expected);
    expect(expected).toMatchObject({ outcome: "complete", metered: { isEstimated: false } });
  });

  test("is the same split at each byte", () => {
    // By day in two at every byte for one client, and for all of them byte by byte.
    const step = inject("isNight") || client === "responses" ? 1 : bytes.length;
    for (let at = 0; at <= bytes.length; at += step)
      expect(play(client, [bytes.subarray(0, at), bytes.subarray(at)])).toEqual(expected);
    expect(
      play(
        client,
        [...bytes].map((byte) => Buffer.from([byte])),
      ),
    ).toEqual(expected);
  });

  test("does not show Bedrock's own figures", () => {
    const figures = { "amazon-bedrock-invocationMetrics": { inputTokenCount: 9, invocationLatency: 5 } };
    const last = encodeChunk(JSON.stringify({ type: "message_stop", ...figures }));
    expect(play(client, [...FRAMES.slice(0, -1), last])).toEqual(expected);
  });

  test("that is cut off ends as broken", () => {
    for (const at of [0, 5, 16, 300, 700, bytes.length - 1]) {
      const { outcome, text } = play(client, [bytes.subarray(0, at)]);
      expect(outcome).toBe("truncated");
      expect(text).toMatch(/stopped in the middle|ended before it was complete/);
    }
  });

  test("that is damaged keeps the events before it and ends as failed", () => {
    const changed = Buffer.from(bytes);
    const at = FRAMES.slice(0, 4).reduce((length, frame) => length + frame.length, 0) + 90;
    changed.writeUInt8(changed.readUInt8(at) ^ 1, at);
    const { outcome, text } = play(client, [changed]);
    expect(outcome).toBe("failed");
    expect(text).toContain("Grüße");
    expect(text).not.toContain("世界");
    expect(text).toContain("stream is damaged");
  });

  test.for([
    ["throttlingException", "not accepting requests right now"],
    ["serviceUnavailableException", "overloaded"],
    ["modelTimeoutException", "took too long"],
    ["internalServerException", "The model server failed"],
    ["modelStreamErrorException", "no usable answer"],
    ["somethingNewException", "The model server failed"],
  ] as const)("ends with an error for %s, which tells nothing of the account", ([name, words]) => {
    const { outcome, text } = play(client, [...FRAMES.slice(0, 5), encodeException(name, "arn:aws:bedrock:eu:123456789012")]);
    expect(outcome).toBe("failed");
    expect(text).toContain(words);
    expect(text).not.toContain("123456789012");
  });

  test("ends with Bedrock's own words about the request", () => {
    const refusal = encodeException("validationException", "messages: too many images");
    const { outcome, text } = play(client, [...FRAMES.slice(0, 5), refusal]);
    expect(outcome).toBe("failed");
    expect(text).toContain("messages: too many images");
  });

  test("ends with an error for an error without an exception", () => {
    const error = encodeMessage({ ":message-type": "error", ":error-code": "throttlingException", ":error-message": "slow" }, "");
    expect(play(client, [...FRAMES.slice(0, 5), error])).toMatchObject({ outcome: "failed" });
  });

  test("passes over messages of other kinds, and ends at one without content", () => {
    const other = encodeMessage({ ":message-type": "event", ":event-type": "initial-response" }, "{}");
    expect(play(client, [other, encodeMessage({}, ""), ...FRAMES])).toEqual(expected);
    const empty = encodeMessage({ ":message-type": "event", ":event-type": "chunk" }, "{}");
    expect(play(client, [...FRAMES.slice(0, 5), empty])).toMatchObject({ outcome: "failed" });
  });

  test("may be one document", () => {
    const usage = { input_tokens: 9, output_tokens: 12 };
    const answer = { ...MESSAGE, content: [{ type: "text", text: "one two" }], stop_reason: "end_turn", usage };
    const { outcome, text } = play(client, [Buffer.from(JSON.stringify(answer))]);
    expect(outcome).toBe("complete");
    expect(text).toContain("one two");
  });
});

test.for([
  [400, "ServiceQuotaExceededException:http://internal.example/coral/", 429],
  [400, "ValidationException", 400],
  [400, "com.amazon.coral.service#ExpiredTokenException", 403],
  [424, "ModelErrorException", 502],
  [418, "SomethingNewException", 418],
  [200, "ThrottlingException", 200],
] as const)("an answer with %i and %s means %i", ([status, name, meant]) => {
  expect(statusMeant(status, new Map([["x-amzn-errortype", name]]))).toBe(meant);
});

test("an error thrown by the translation is the gateway's own", () => {
  expect(() => translate("messages", { max_tokens: -1 })).toThrow(GatewayError);
});
