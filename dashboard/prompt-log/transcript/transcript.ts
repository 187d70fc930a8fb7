import type { RecordedText } from "../../../ledger/prompt-log/content.ts";
import { assembleChat, readChatAnswer, readChatRequest } from "./chat.ts";
import { assembleMessage, readMessagesAnswer, readMessagesRequest } from "./messages.ts";
import { assembleResponse, readResponsesAnswer, readResponsesRequest } from "./responses.ts";
import { asText, isObject, objectsIn, parseObject, pretty, type Json, type Turn } from "./turn.ts";

/** A recorded request or answer as people read it. */
export interface Transcript {
  turns: Turn[];
  /** Names and descriptions of the tools that a request offers. */
  tools: { name: string; description: string }[];
  /** Everything else, as JSON; "" if there is nothing. */
  rest: string;
  /** All of it, as it was sent or, if it is JSON, with line breaks. */
  whole: string;
  isJson: boolean;
}

interface Reader {
  request(request: Json): Turn[];
  answer(answer: Json): Turn[];
  /** An answer from the events of a stream. */
  assemble(events: readonly Json[]): Json;
}

const READERS: ReadonlyMap<string, Reader> = new Map([
  ["chat", { request: readChatRequest, answer: readChatAnswer, assemble: assembleChat }],
  ["messages", { request: readMessagesRequest, answer: readMessagesAnswer, assemble: assembleMessage }],
  ["responses", { request: readResponsesRequest, answer: readResponsesAnswer, assemble: assembleResponse }],
]);

/** Members that the turns and tools show. */
const SHOWN = {
  request: ["messages", "system", "instructions", "input", "tools"],
  answer: ["choices", "content", "output", "instructions", "tools", "role"],
} as const;

/** @param client the interface, by its name. */
export function readRequest({ text }: RecordedText, client: string): Transcript {
  const sent = text.toString("utf8");
  const request = parseObject(sent);
  const reader = READERS.get(client);
  if (request === undefined) return asSent(sent);
  if (reader === undefined) return { ...asSent(sent), whole: pretty(request), isJson: true };
  const tools = objectsIn(request["tools"]).map(toolOf);
  return { turns: reader.request(request), tools, rest: restOf(request, SHOWN.request), whole: pretty(request), isJson: true };
}

export function readAnswer({ text }: RecordedText, client: string): Transcript {
  const sent = text.toString("utf8");
  const reader = READERS.get(client);
  const events = reader === undefined ? [] : eventsIn(sent);
  const answer = events.length > 0 ? reader?.assemble(events) : parseObject(sent);
  if (answer === undefined) return asSent(sent);
  const whole = events.length > 0 ? sent : pretty(answer);
  const failure = events.find((event) => isObject(event["error"]));
  const { error } = failure ?? answer;
  const ends = objectsIn(answer["choices"]).map((choice) => choice["finish_reason"]);
  const facts = {
    ...(ends.length > 0 && { finish_reason: ends.length > 1 ? ends : ends[0] }),
    ...(isObject(error) && { error }),
  };
  const rest = restOf({ ...answer, ...facts }, SHOWN.answer);
  return {
    turns: reader?.answer(answer) ?? [],
    tools: [],
    rest: reader === undefined ? "" : rest,
    whole,
    isJson: events.length === 0,
  };
}

function asSent(whole: string): Transcript {
  return { turns: [], tools: [], rest: "", whole, isJson: false };
}

function toolOf(tool: Json): Transcript["tools"][number] {
  const named = isObject(tool["function"]) ? tool["function"] : tool;
  return { name: asText(named["name"] ?? named["type"]), description: asText(named["description"]) };
}

function restOf(all: Json, shown: readonly string[]): string {
  const others = Object.entries(all).filter(([name, value]) => !shown.includes(name) && value !== undefined && value !== null);
  return others.length === 0 ? "" : pretty(Object.fromEntries(others));
}

/** Much shorter ones do not occur: an answer has fewer. */
const MAX_EVENTS = 50_000;
/** Each takes as long as a hundred others. */
const MAX_UNREADABLE_EVENTS = 100;

/** Of server-sent events; none if the text is no stream. The last one may have been cut. */
function eventsIn(text: string): Json[] {
  if (!/^(?:event|data|id|retry)?:/.test(text)) return [];
  const events: Json[] = [];
  let unreadable = 0;
  for (const block of text.split(/\r?\n\r?\n/, MAX_EVENTS)) {
    const data = block.split(/\r?\n/).flatMap((line) => (line.startsWith("data:") ? [line.slice("data:".length)] : []));
    if (data.length === 0) continue;
    const event = parseObject(data.join("\n"));
    if (event !== undefined) events.push(event);
    else if (++unreadable > MAX_UNREADABLE_EVENTS) break;
  }
  return events;
}
