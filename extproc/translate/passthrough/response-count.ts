import type { Meter } from "../../meter/meter.ts";
import { isObject, type JsonObject } from "../../protocol/json/object.ts";
import { positionIn } from "../../protocol/json/position.ts";
import type { RequestBody } from "../../protocol/json/request-body.ts";
import { rawMember } from "../../protocol/json/scan.ts";
import { bytesOf, countOutput, messagesOutput, objectsIn, type Output } from "../readable-output.ts";
import { createRepeatedText } from "./repeated-text.ts";
import { createFreeErrors, createUnreadText, logprobBytes } from "./unread-text.ts";

/** Counts everything that the client can read of one response, complete or in events. */
export interface ResponseCount {
  event(json: JsonObject, data: string): void;
  whole(json: JsonObject, data: string): void;
}

/** Members of the request that a response repeats. Servers fill in omitted ones. */
const ECHOED = [
  "instructions",
  "metadata",
  "reasoning",
  "text",
  "tool_choice",
  "tools",
  "user",
  "safety_identifier",
  "prompt_cache_key",
];
/** A server's possible additions to each of these: `strict`, defaults, their names. */
const ADDED_BYTES = 256;
/** A stream repeats the request when the response is created, queued, begun and over. */
const MAX_ECHOES = 4;
/** How much longer its normal form may be. */
const LONGER = 2;

/** @param body the request: only the sizes of its members are kept. */
export function createResponseCount(body: RequestBody): (meter: Meter) => ResponseCount {
  const maxEchoed = new Map(ECHOED.map((name) => [name, LONGER * (sizeOf(body, name) ?? 0) + ADDED_BYTES]));
  return (meter) => createCount(meter, maxEchoed);
}

function sizeOf({ bytes, outline }: RequestBody, name: string): number | undefined {
  return Object.hasOwn(outline, name) ? rawMember(bytes, name)?.length : undefined;
}

function createCount(meter: Meter, maxEchoed: ReadonlyMap<string, number>): ResponseCount {
  const repeated = createRepeatedText();
  const unread = createUnreadText();
  /** Quotations and similar content that were counted and arrive again. */
  let otherBytes = 0;
  let echoes = 0;
  const freeErrorBytes = createFreeErrors();

  function countAll(json: JsonObject, data: string, output: Output): void {
    const texts = repeated.unheard(output.texts);
    const moreBytes = Math.max(0, output.otherBytes - otherBytes);
    otherBytes += moreBytes;
    const countedBytes = countOutput(meter, { texts, otherBytes: moreBytes });
    const allBytes = bytesOf(output);
    countUnread(json, data, { countedBytes, freeBytes: allBytes - countedBytes + logprobsIn(json, allBytes) });
  }

  function countUnread(json: JsonObject, data: string, bytes: { countedBytes: number; freeBytes: number }): void {
    const response = isObject(json["response"]) ? json["response"] : json;
    const freeBytes = bytes.freeBytes + freeEcho(response) + freeError(response);
    const unreadBytes = unread.find({ data, json, countedBytes: bytes.countedBytes, freeBytes });
    if (unreadBytes > 0) meter.producedBytes(unreadBytes, 0);
  }

  function freeEcho(response: JsonObject): number {
    const echoed = echoes < MAX_ECHOES ? echoBytes(response, maxEchoed) : 0;
    if (echoed > 0) echoes += 1;
    return echoed;
  }

  /** A failed response gives the reason; text beside it is an answer. */
  function freeError({ error, type }: JsonObject): number {
    if (type === "error") return freeErrorBytes();
    return isObject(error) ? Math.min(freeErrorBytes(), stringBytes(error)) : 0;
  }

  return {
    event(json, data) {
      const { type, delta } = json;
      if (type === "error") {
        countUnread(json, data, { countedBytes: 0, freeBytes: 0 });
        return;
      }
      if (typeof type === "string" && type.endsWith(".delta") && typeof delta === "string") {
        repeated.add(partKey(json, type), delta);
        const countedBytes = countOutput(meter, { texts: delta === "" ? [] : [delta], otherBytes: 0 });
        countUnread(json, data, { countedBytes, freeBytes: logprobsIn(json, countedBytes) });
        return;
      }
      countAll(json, data, isObject(json["response"]) ? outputOf(json["response"]) : eventOutput(json));
    },
    whole: (json, data) => countAll(json, data, outputOf(json)),
  };
}

function partKey({ output_index: item, content_index: part, summary_index: summary }: JsonObject, type: string): string {
  return `${type}/${numberOf(item)}/${numberOf(part ?? summary)}`;
}

function numberOf(position: unknown): string {
  return String(positionIn(position) ?? "");
}

/** Text of a response; the parts that repeat its request are not part of the answer. */
function outputOf({ output }: JsonObject): Output {
  return messagesOutput({ content: output });
}

const BESIDE_TEXT: ReadonlySet<string> = new Set(["obfuscation", "logprobs", "error"]);

function eventOutput(json: JsonObject): Output {
  return messagesOutput(Object.fromEntries(Object.entries(json).filter(([name]) => !BESIDE_TEXT.has(name))));
}

function echoBytes(response: JsonObject, maxEchoed: ReadonlyMap<string, number>): number {
  let bytes = 0;
  for (const [name, most] of maxEchoed) bytes += Math.min(stringBytes(response[name]), most);
  return bytes;
}

/** Bytes of all strings in it, names included. No recursion and no spread: JSON may be deeper and longer than the stack. */
function stringBytes(value: unknown): number {
  let bytes = 0;
  const waiting: unknown[] = [value];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (typeof next === "string") bytes += Buffer.byteLength(next);
    else if (Array.isArray(next)) {
      for (const element of next) if (element !== undefined) waiting.push(element);
    } else if (isObject(next))
      for (const [name, member] of Object.entries(next)) {
        bytes += Buffer.byteLength(name);
        if (member !== null) waiting.push(member);
      }
  }
  return bytes;
}

/** Log probabilities repeat the text, and name some alternatives to it. */
function logprobsIn(json: JsonObject, textBytes: number): number {
  const { part, item, response, output } = json;
  const holders = [json, part, item, ...objectsIn(isObject(response) ? response["output"] : output)].filter(isObject);
  const parts = holders.flatMap((holder) => [holder, ...objectsIn(holder["content"])]);
  return parts.reduce((bytes, { logprobs: tokens }) => bytes + logprobBytes([{ logprobs: { content: tokens } }], textBytes), 0);
}
