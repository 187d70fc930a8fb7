import type { IncomingMessage, ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { countPrompt, createAnswer } from "./answer.ts";
import { parseChatRequest } from "./chat/request.ts";
import { chatAnswer, chatError, chatEvents } from "./chat/response.ts";
import { deliverBody, deliverSound, deliverStream, forever, reset } from "./delivery.ts";
import { parseDirective, type Directive } from "./directive.ts";
import { parseEmbeddingsRequest } from "./embeddings/request.ts";
import { embeddingsAnswer } from "./embeddings/response.ts";
import { parseImageEdit, parseImageRequest, type ImageRequest } from "./images/request.ts";
import { imageAnswer } from "./images/response.ts";
import type { Journal } from "./journal.ts";
import { parseCountRequest, parseMessagesRequest } from "./messages/request.ts";
import { messagesAnswer, messagesError, messagesEvents } from "./messages/response.ts";
import { modelList } from "./models.ts";
import { PromptError, type Prompt } from "./prompt.ts";
import type { PromptCache } from "./prompt-cache.ts";
import { parseRerankRequest } from "./rerank/request.ts";
import { rerankAnswer } from "./rerank/response.ts";
import { parseResponsesCount, parseResponsesRequest } from "./responses/request.ts";
import { responsesAnswer, responsesError, responsesErrorEvent, responsesEvents } from "./responses/response.ts";
import { parseSpeechRequest } from "./speech/request.ts";
import { soundPieces, speechEvents } from "./speech/response.ts";
import { parseTranscriptionRequest } from "./transcription/request.ts";
import { transcription, transcriptionEvents } from "./transcription/response.ts";
import type { SimulatedError, SimulatedProtocol } from "./protocol.ts";

const CHAT: SimulatedProtocol = {
  parse: parseChatRequest,
  answer: chatAnswer,
  events: chatEvents,
  error: chatError,
  errorEvent: (error) => ({ data: JSON.stringify(chatError(error)) }),
  idHeader: "x-request-id",
};

const MESSAGES: SimulatedProtocol = {
  parse: parseMessagesRequest,
  answer: messagesAnswer,
  events: messagesEvents,
  error: messagesError,
  errorEvent: (error) => ({ event: "error", data: JSON.stringify(messagesError(error)) }),
  idHeader: "request-id",
};

const RESPONSES: SimulatedProtocol = {
  parse: parseResponsesRequest,
  answer: responsesAnswer,
  events: responsesEvents,
  error: responsesError,
  errorEvent: (error) => ({ event: "error", data: JSON.stringify(responsesErrorEvent(error)) }),
  idHeader: "x-request-id",
};

/** Every route of the simulator. Without a cache, all but the last text of a prompt counts as cached, always the same. */
export function createRoutes(journal: Journal, promptCache?: PromptCache) {
  return async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const [path = "/"] = (request.url ?? "/").split("?");
    if (path === "/simulator/requests") return showJournal(journal, request, response);
    const body = await readBody(request);
    const entry = journal.add(request, body);
    response.once("close", () => {
      if (!response.writableFinished) entry.abort();
    });

    switch (`${request.method} ${path}`) {
      case "POST /v1/chat/completions":
        return await converse(CHAT, { body, promptCache }, response);
      case "POST /v1/messages":
        return await converse(MESSAGES, { body, promptCache }, response);
      case "POST /v1/responses":
        return await converse(RESPONSES, { body, promptCache }, response);
      case "POST /v1/embeddings":
        return await embedInputs(body, response);
      case "POST /v1/rerank":
        return await rankDocuments(body, response);
      case "POST /v1/images/generations":
        return await makeImages(parseBody(body.toString("utf8"), parseImageRequest), response);
      case "POST /v1/images/edits":
        return await makeImages(await parseForm(parseImageEdit(body, request.headers["content-type"] ?? "")), response);
      case "POST /v1/audio/speech":
        return await speak(body, response);
      case "POST /v1/audio/transcriptions":
      case "POST /v1/audio/translations":
        return await transcribe(body, request, response);
      case "POST /v1/messages/count_tokens":
        return count(COUNTED_MESSAGES, body, response);
      case "POST /v1/responses/input_tokens":
        return count(COUNTED_RESPONSES, body, response);
      case "GET /v1/models":
        return sendJson(response, 200, modelList(request.headers["anthropic-version"] === undefined ? "chat" : "messages"));
      default:
        return sendJson(response, 404, protocolOf(path).error(refusal(404, `No route ${request.method} ${path}.`)));
    }
  };
}

async function converse(
  protocol: SimulatedProtocol,
  { body, promptCache }: { body: Buffer; promptCache: PromptCache | undefined },
  response: ServerResponse,
): Promise<void> {
  const text = body.toString("utf8");
  const parsed = parseBody(text, protocol.parse);
  if ("refused" in parsed) return sendJson(response, 400, protocol.error(parsed.refused));
  const { prompt, json } = parsed;
  const directive = parseDirective(prompt.lastUserText, prompt.toolRounds);
  if (await failsAsAsked(protocol, directive, response)) return;

  const cachedTokens = directive.cachedTokens ?? promptCache?.read(prompt);
  const answer = createAnswer(prompt, { ...directive, cachedTokens }, text);
  response.setHeader(protocol.idHeader, `req_${answer.id}`);
  if (prompt.wantsStream && !directive.isJson) {
    response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache" });
    const errorEvent = protocol.errorEvent(fault(529, directive));
    return await deliverStream(response, protocol.events(answer, directive, json), { directive, errorEvent });
  }
  response.setHeader("content-type", "application/json");
  const whole = directive.isGarbage ? "{this is not JSON" : JSON.stringify(protocol.answer(answer, directive, json));
  await deliverBody(response, whole, directive);
}

/** Vectors. The last text may contain a directive. */
async function embedInputs(body: Buffer, response: ServerResponse): Promise<void> {
  const parsed = parseBody(body.toString("utf8"), parseEmbeddingsRequest);
  if ("refused" in parsed) return sendJson(response, 400, chatError(parsed.refused));
  const { prompt: asked } = parsed;
  const directive = parseDirective(asked.inputs.findLast((input) => typeof input === "string") ?? "");
  if (await failsAsAsked(CHAT, directive, response)) return;
  response.setHeader("content-type", "application/json");
  const answer = directive.isGarbage ? "{this is not JSON" : JSON.stringify(embeddingsAnswer(asked, directive));
  await deliverBody(response, answer, directive);
}

/** A ranking. The query may contain a directive. */
async function rankDocuments(body: Buffer, response: ServerResponse): Promise<void> {
  const parsed = parseBody(body.toString("utf8"), parseRerankRequest);
  if ("refused" in parsed) return sendJson(response, 400, chatError(parsed.refused));
  const { prompt: asked } = parsed;
  const directive = parseDirective(asked.query);
  if (await failsAsAsked(CHAT, directive, response)) return;
  response.setHeader("content-type", "application/json");
  const answer = directive.isGarbage ? "{this is not JSON" : JSON.stringify(rerankAnswer(asked, directive));
  await deliverBody(response, answer, directive);
}

/** Pictures. The prompt may contain a directive. */
async function makeImages(parsed: Parsed<ImageRequest>, response: ServerResponse): Promise<void> {
  if ("refused" in parsed) return sendJson(response, 400, chatError(parsed.refused));
  const { prompt: asked } = parsed;
  const directive = parseDirective(asked.prompt);
  if (await failsAsAsked(CHAT, directive, response)) return;
  response.setHeader("content-type", "application/json");
  const answer = directive.isGarbage ? "{this is not JSON" : JSON.stringify(imageAnswer(asked, directive));
  await deliverBody(response, answer, directive);
}

/** Speech. The text may contain a directive, which is not spoken. */
async function speak(body: Buffer, response: ServerResponse): Promise<void> {
  const parsed = parseBody(body.toString("utf8"), parseSpeechRequest);
  if ("refused" in parsed) return sendJson(response, 400, chatError(parsed.refused));
  const { prompt: asked } = parsed;
  const directive = parseDirective(asked.input);
  if (await failsAsAsked(CHAT, directive, response)) return;
  if (asked.hasEvents) {
    response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache" });
    const errorEvent = CHAT.errorEvent(fault(529, directive));
    return await deliverStream(response, speechEvents(asked, directive), { directive, errorEvent });
  }
  if (directive.isJson || directive.isGarbage) return sendJson(response, 200, { text: asked.input });
  response.writeHead(200, { "content-type": asked.isPcm ? "audio/pcm" : "audio/wav" });
  await deliverSound(response, soundPieces(asked), directive);
}

/** A transcription. The prompt may contain a directive. */
async function transcribe(body: Buffer, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const read = await parseForm(parseTranscriptionRequest(body, request.headers["content-type"] ?? ""));
  if ("refused" in read) return sendJson(response, 400, chatError(read.refused));
  const { prompt: parsed } = read;
  const directive = parseDirective(parsed.prompt);
  if (await failsAsAsked(CHAT, directive, response)) return;
  if (parsed.wantsStream && !directive.isJson) {
    response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache" });
    const errorEvent = CHAT.errorEvent(fault(529, directive));
    return await deliverStream(response, transcriptionEvents(parsed, directive), { directive, errorEvent });
  }
  const { type, body: answer } = transcription(parsed, directive);
  response.setHeader("content-type", directive.isGarbage ? "application/json" : type);
  await deliverBody(response, directive.isGarbage ? "{this is not JSON" : answer, directive);
}

/** @returns whether the directive requested no answer, or one of these instead. */
async function failsAsAsked(protocol: SimulatedProtocol, directive: Directive, response: ServerResponse): Promise<boolean> {
  const { delayMs, stallAfter, resetAfter, isHtml, status } = directive;
  if (delayMs > 0) await sleep(delayMs);
  if (stallAfter === "headers") await forever(response);
  else if (resetAfter === 0) await reset(response);
  else if (isHtml) sendHtml(response, status ?? 502);
  else if (status !== undefined) sendFault(protocol, directive, status, response);
  else return false;
  return true;
}

type Parsed<Request> = { prompt: Request } | { refused: SimulatedError };

async function parseForm<Request>(parsing: Promise<Request>): Promise<Parsed<Request>> {
  try {
    return { prompt: await parsing };
  } catch (error) {
    if (error instanceof PromptError) return { refused: { ...refusal(400, error.message), field: error.field } };
    throw error;
  }
}

function parseBody<Request>(
  text: string,
  parse: (body: unknown) => Request,
): { prompt: Request; json: unknown } | { refused: SimulatedError } {
  try {
    const json: unknown = JSON.parse(text);
    return { prompt: parse(json), json };
  } catch (error) {
    if (error instanceof PromptError) return { refused: { ...refusal(400, error.message), field: error.field } };
    if (error instanceof SyntaxError) return { refused: refusal(400, "The body is not JSON.") };
    if (error instanceof RangeError) return { refused: refusal(400, "The body nests too deep.") };
    throw error;
  }
}

interface Counted {
  protocol: SimulatedProtocol;
  parse: (body: unknown) => Prompt;
  /** Of the answer, beside the count. */
  members: object;
}

const COUNTED_MESSAGES: Counted = { protocol: MESSAGES, parse: parseCountRequest, members: {} };
const COUNTED_RESPONSES: Counted = {
  protocol: RESPONSES,
  parse: parseResponsesCount,
  members: { object: "response.input_tokens" },
};

function count({ protocol, parse, members }: Counted, body: Buffer, response: ServerResponse): void {
  const parsed = parseBody(body.toString("utf8"), parse);
  if ("refused" in parsed) return sendJson(response, 400, protocol.error(parsed.refused));
  const directive = parseDirective(parsed.prompt.lastUserText);
  if (directive.status !== undefined) return sendFault(protocol, directive, directive.status, response);
  sendJson(response, 200, { ...members, input_tokens: countPrompt(parsed.prompt, directive).promptTokens });
}

function sendFault(protocol: SimulatedProtocol, directive: Directive, status: number, response: ServerResponse): void {
  if (directive.retryAfter !== undefined) response.setHeader("retry-after", directive.retryAfter);
  sendJson(response, status, protocol.error(fault(status, directive)));
}

function fault(status: number, { type, code }: Directive): SimulatedError {
  return { ...refusal(status, `Simulated fault ${status}, as the request asked for.`), type, code };
}

function refusal(status: number, message: string): SimulatedError {
  return { status, message, type: undefined, code: undefined, field: undefined };
}

function protocolOf(path: string): SimulatedProtocol {
  return path.startsWith("/v1/messages") ? MESSAGES : CHAT;
}

function showJournal(journal: Journal, request: IncomingMessage, response: ServerResponse): void {
  if (request.method === "DELETE") journal.clear();
  sendJson(response, 200, { requests: journal.list() });
}

function sendHtml(response: ServerResponse, status: number): void {
  const page = `<html>\r\n<head><title>${status} Simulated</title></head>\r\n<body>\r\n<center><h1>${status} Simulated</h1></center>\r\n<hr><center>proxy</center>\r\n</body>\r\n</html>\r\n`;
  response.writeHead(status, { "content-type": "text/html", "content-length": Buffer.byteLength(page) }).end(page);
}

function sendJson(response: ServerResponse, status: number, body: object): void {
  const text = JSON.stringify(body);
  response.writeHead(status, { "content-type": "application/json", "content-length": Buffer.byteLength(text) }).end(text);
}

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(Buffer.from(chunk));
  return chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks);
}
