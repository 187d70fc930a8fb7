import type { IncomingMessage, ServerResponse } from "node:http";
import { setImmediate } from "node:timers/promises";
import { REPORTED_USAGE } from "./cached-usage.ts";
import { toEventStream } from "../wire/event-stream.ts";
import { startRecordingUpstream } from "./recording-upstream.ts";
import { checkSignature } from "./signature-v4.ts";

export const BEDROCK_REGION = "eu-central-1";
export const BEDROCK_KEYS = {
  "access-key-id": "AKIDBED4QmT7wLr2YbNx",
  "secret-access-key": "bedrockSecret/k3v9QmT7wLr2YbN+Zx81hP",
};

const MESSAGE = { id: "msg_bdrk_01", type: "message", role: "assistant", model: "claude-x", stop_sequence: null };
const INPUT = { city: "Zürich" };
const CONTENT = [
  { type: "text", text: "Grüße, 世界 🙂" },
  { type: "tool_use", id: "toolu_bdrk_01", name: "get_weather", input: INPUT },
];
/** A complete answer. */
const ANSWER = { ...MESSAGE, content: CONTENT, stop_reason: "tool_use", usage: REPORTED_USAGE };

/** The same, as events. */
const EVENTS = [
  {
    type: "message_start",
    message: { ...MESSAGE, content: [], stop_reason: null, usage: { ...REPORTED_USAGE, output_tokens: 1 } },
  },
  { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
  { type: "ping" },
  { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Grüße, " } },
  { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "世界 🙂" } },
  { type: "content_block_stop", index: 0 },
  { type: "content_block_start", index: 1, content_block: { ...CONTENT[1], input: {} } },
  { type: "content_block_delta", index: 1, delta: { type: "input_json_delta", partial_json: '{"city":' } },
  { type: "content_block_delta", index: 1, delta: { type: "input_json_delta", partial_json: '"Zürich"}' } },
  { type: "content_block_stop", index: 1 },
  { type: "message_delta", delta: { stop_reason: "tool_use", stop_sequence: null }, usage: { output_tokens: 12 } },
  {
    type: "message_stop",
    "amazon-bedrock-invocationMetrics": {
      inputTokenCount: 20,
      outputTokenCount: 12,
      invocationLatency: 900,
      firstByteLatency: 300,
    },
  },
];
/** Each event in a message of AWS's event stream. */
export const BEDROCK_FRAMES: readonly Buffer[] = toEventStream(
  EVENTS.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(""),
);

interface BedrockRequest {
  path: string;
  /** What is wrong with the signature; null if nothing is. */
  problem: string | null;
  headers: IncomingMessage["headers"];
  body: unknown;
}

/** In place of the answer above. */
export type BedrockAnswer = (response: ServerResponse) => Promise<void> | void;

export interface BedrockServer {
  readonly url: string;
  /** Since `answerWith`. */
  readonly asked: readonly BedrockRequest[];
  /** Answers from now on, once the signature is right; as Bedrock does if absent. */
  answerWith(answer?: BedrockAnswer): void;
  stop(): Promise<void>;
}

/** Bedrock's InvokeModel and InvokeModelWithResponseStream for Anthropic's models. Takes signatures, and the key `apiKey`. */
export async function startBedrockServer({ apiKey }: { apiKey: string }): Promise<BedrockServer> {
  const asked: BedrockRequest[] = [];
  const secrets = new Map([[BEDROCK_KEYS["access-key-id"], BEDROCK_KEYS["secret-access-key"]]]);
  let answer: BedrockAnswer | undefined;
  const server = await startRecordingUpstream((request, response, body) => {
    const isKey = request.headers.authorization === `Bearer ${apiKey}`;
    const problem = isKey ? null : checkSignature(request, body, { region: BEDROCK_REGION, service: "bedrock", secrets });
    asked.push({ path: request.url ?? "", problem, headers: request.headers, body: JSON.parse(body) });
    const refusal =
      problem === null ? undefined : answerError({ status: 403, name: "InvalidSignatureException", message: problem });
    void (refusal ?? answer ?? answerTo(request))(response);
  });
  return {
    url: `http://127.0.0.1:${server.port}`,
    asked,
    answerWith(next) {
      answer = next;
      asked.length = 0;
    },
    stop: server.stop,
  };
}

function answerTo(request: IncomingMessage): BedrockAnswer {
  const [, operation = ""] = /^\/model\/[^/]+\/([a-z-]+)$/.exec(request.url ?? "") ?? [];
  switch (operation) {
    case "invoke":
      return answerWhole;
    case "invoke-with-response-stream":
      return answerFrames(BEDROCK_FRAMES);
    default:
      return answerError({ status: 404, name: "UnknownOperationException", message: "" });
  }
}

export function answerWhole(response: ServerResponse): void {
  response.writeHead(200, { "content-type": "application/json", "x-amzn-bedrock-input-token-count": "20" });
  response.end(JSON.stringify(ANSWER));
}

/** In writes of `pieceBytes`, if stated; ends with the last frame. */
export function answerFrames(frames: readonly Buffer[], { pieceBytes }: { pieceBytes?: number } = {}): BedrockAnswer {
  const bytes = Buffer.concat(frames);
  return async (response) => {
    beginFrames(response);
    const step = pieceBytes ?? bytes.length;
    for (let at = 0; at < bytes.length && !response.destroyed; at += step) {
      response.write(bytes.subarray(at, at + step));
      await setImmediate();
    }
    response.end();
  };
}

export function beginFrames(response: ServerResponse): void {
  response.writeHead(200, {
    "content-type": "application/vnd.amazon.eventstream",
    "x-amzn-bedrock-content-type": "application/json",
    "x-amzn-requestid": "0f1e2d3c-requestid-of-aws",
  });
}

/** As AWS's services answer: the error's name is in a header. */
export function answerError({ status, name, message }: { status: number; name: string; message: string }): BedrockAnswer {
  return (response) => {
    response.writeHead(status, {
      "content-type": "application/json",
      "x-amzn-errortype": `${name}:http://internal.amazon.example/coral/com.amazon.bedrock/`,
    });
    response.end(JSON.stringify({ message }));
  };
}
