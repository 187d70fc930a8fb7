import { once } from "node:events";
import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import type { Protocol } from "../../contract/protocol.ts";
import type { Usage } from "../../contract/usage.ts";
import { splitAnswer, type Answer } from "../../local/simulator/answer.ts";
import { parseChatRequest } from "../../local/simulator/chat/request.ts";
import { chatAnswer, chatError, chatEvents } from "../../local/simulator/chat/response.ts";
import { drained } from "../../local/simulator/drained.ts";
import { parseDirective } from "../../local/simulator/directive.ts";
import { parseMessagesRequest } from "../../local/simulator/messages/request.ts";
import { messagesAnswer, messagesError, messagesEvents } from "../../local/simulator/messages/response.ts";
import type { Prompt } from "../../local/simulator/prompt.ts";
import { parseResponsesRequest } from "../../local/simulator/responses/request.ts";
import { responsesAnswer, responsesError, responsesEvents } from "../../local/simulator/responses/response.ts";
import type { SimulatedError } from "../../local/simulator/protocol.ts";
import { encodeSse } from "../../local/simulator/sse.ts";

/** One request that reached the model server. */
export interface Delivery {
  number: number;
  requestId: string;
  /** How much text of an answer it has sent. */
  sentBytes: number;
  /** Of the whole answer, whether it was sent or not. */
  usage: Usage;
}

export const PROTOCOLS = {
  chat: { parse: parseChatRequest, whole: chatAnswer, events: chatEvents, error: chatError, eventsBeforeText: 1 },
  messages: {
    parse: parseMessagesRequest,
    whole: messagesAnswer,
    events: messagesEvents,
    error: messagesError,
    eventsBeforeText: 3,
  },
  responses: {
    parse: parseResponsesRequest,
    whole: responsesAnswer,
    events: responsesEvents,
    error: responsesError,
    eventsBeforeText: 4,
  },
} as const;
/** An answer without the simulator's own faults. */
export const PLAIN = parseDirective("");
const GARBAGE = Buffer.from('\u0000\u0007<<<"}}]] \\ud800 data:{{ \r\n', "latin1");
const BEYOND_BYTES = 36 * 1024 * 1024;

interface Exchange {
  /** Of the request: an answer has none while the one before it is on its way. */
  socket: Socket;
  response: ServerResponse;
  delivery: Delivery;
  protocol: Protocol;
  json: unknown;
  prompt: Prompt;
  answer: Answer;
}

/** Sends the answer with the fault that was asked for. */
export async function deliver(exchange: Exchange, fault: string): Promise<void> {
  const { socket, response, prompt } = exchange;
  switch (fault) {
    case "reset before the headers":
      return void socket.resetAndDestroy();
    case "bytes that are not HTTP":
      return void socket.end(GARBAGE);
    case "stall before the headers":
      return await forever(response);
    case "429":
      return sendError(exchange, 429);
    case "429 with retry-after":
      return sendError(exchange, 429, { "retry-after": "1" });
    case "500":
      return sendError(exchange, 500);
    case "503":
      return sendError(exchange, 503);
    case "503 with retry-after":
      return sendError(exchange, 503, { "retry-after": "1" });
    case "empty answer":
      return void response.writeHead(200, { "content-type": contentType(prompt), "content-length": 0 }).end();
    case "200 with an error":
      return sendError(exchange, 200);
    default:
      return prompt.wantsStream ? await stream(exchange, fault) : await whole(exchange, fault);
  }
}

async function whole(exchange: Exchange, fault: string): Promise<void> {
  const { socket, response, protocol, answer, delivery } = exchange;
  const document = PROTOCOLS[protocol].whole(answer, PLAIN, exchange.json);
  const body = Buffer.from(JSON.stringify(document));
  const half = body.subarray(0, body.length / 2);
  const head = { "content-type": "application/json" };
  const sized = { ...head, "content-length": body.length };
  delivery.sentBytes = Buffer.byteLength(answer.text);
  switch (fault) {
    case "slow drip":
      response.writeHead(200, sized);
      return await drip(response, body, Math.ceil(body.length / 20));
    case "answer beyond all bounds":
      response.writeHead(200, head).end(JSON.stringify({ padding: "x".repeat(BEYOND_BYTES), ...document }));
      return;
    case "stall in the answer":
      response.writeHead(200, sized).write(half);
      return await forever(response);
    case "reset in the answer":
      response.writeHead(200, sized).write(half);
      await sleep(20);
      return void socket.resetAndDestroy();
    case "truncated":
      return void response.writeHead(200, head).end(half);
    case "garbage in the answer":
      return void response.writeHead(200, head).end(Buffer.concat([half, GARBAGE]));
    case "wrong content type":
      return void response.writeHead(200, { ...sized, "content-type": "text/html" }).end(body);
    case "compressed although not asked to":
      return void response.writeHead(200, { ...head, "content-encoding": "gzip" }).end(gzipSync(body));
    default:
      return void response.writeHead(200, sized).end(body);
  }
}

/** Faults in an answer come in its middle. */
async function stream(exchange: Exchange, fault: string): Promise<void> {
  const { socket, response, protocol, answer, json, delivery } = exchange;
  const events = [...PROTOCOLS[protocol].events(answer, PLAIN, json)].map((event) => Buffer.from(encodeSse(event, "\n")));
  const middle = Math.floor(events.length / 2);
  const pieces = splitAnswer(answer.text, PLAIN);
  const firstPiece = PROTOCOLS[protocol].eventsBeforeText;
  const isCompressed = fault === "compressed although not asked to";
  response.writeHead(200, {
    "content-type": fault === "wrong content type" ? "text/plain" : "text/event-stream; charset=utf-8",
    ...(isCompressed ? { "content-encoding": "gzip" } : {}),
  });
  if (isCompressed) return void response.end(gzipSync(Buffer.concat(events)));
  for (const [index, event] of events.entries()) {
    if (response.destroyed) return;
    if (index === middle) {
      switch (fault) {
        case "stall in the answer":
          return await forever(response);
        case "reset in the answer":
          await sleep(20);
          return void socket.resetAndDestroy();
        case "truncated":
          return void response.end();
        case "garbage in the answer":
          return void response.end(Buffer.concat([Buffer.from("data: "), GARBAGE, Buffer.from("\n\n")]));
      }
    }
    delivery.sentBytes += Buffer.byteLength(pieces[index - firstPiece] ?? "");
    if (fault === "slow drip") await drip(response, event, Math.ceil(event.length / 3), 10, false);
    else if (!response.write(event)) await drained(response);
    if (fault !== "slow drip" && index % 8 === 0) await sleep(2);
  }
  response.end();
}

async function drip(response: ServerResponse, bytes: Buffer, pieceBytes: number, pauseMs = 15, isLast = true): Promise<void> {
  for (let at = 0; at < bytes.length && !response.destroyed; at += pieceBytes) {
    response.write(bytes.subarray(at, at + pieceBytes));
    await sleep(pauseMs);
  }
  if (isLast) response.end();
}

function sendError({ response, protocol }: Exchange, status: number, headers: Record<string, string> = {}): void {
  const error: SimulatedError = { status, message: "Chaos.", type: "chaos", code: undefined, field: undefined };
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(JSON.stringify(PROTOCOLS[protocol].error(error)));
}

function contentType({ wantsStream }: Prompt): string {
  return wantsStream ? "text/event-stream" : "application/json";
}

async function forever(response: ServerResponse): Promise<void> {
  if (!response.destroyed) await once(response, "close");
}
