import { GatewayError } from "../../../contract/errors.ts";
import { noAnswer, type InputAnswer } from "../input-answer.ts";
import { count } from "../json/count.ts";
import { NO_MEDIA } from "../json/media.ts";
import { parseObject, type JsonObject } from "../json/object.ts";
import { createOutline, type Outline } from "../json/outline.ts";
import { scanMembers, skipSpace } from "../json/scan.ts";

/** An answer without its vectors. */
interface Rest {
  /** It had none. */
  readonly isEmpty: boolean;
  /** The text with `data` empty. */
  readonly outline: Outline;
  readonly json: JsonObject;
}

const OPEN_BRACKET = 91;
const CLOSE_BRACKET = 93;
/** The rest of the answer: a model's name and a few counts. */
const MAX_REST_BYTES = 64 * 1024;

/**
 * Reads an answer without its vectors: these are nearly all of it, and unused here.
 * @throws GatewayError `upstream_error` if it is not a list of embeddings; the upstream's own error if it is one.
 */
export function readEmbeddingsAnswer(body: Buffer): InputAnswer {
  const rest = betweenOuterBrackets(body) ?? byMembers(body);
  if (rest === null) throw readNoList(body);
  // A request has at least one input.
  if (rest.isEmpty) throw new GatewayError("upstream_error", "The model server's answer has no embedding.");
  const { usage } = rest.json;
  // Vectors are not tokens: only the prompt is counted.
  return { outline: rest.outline, inputTokens: count(usage, "prompt_tokens") ?? count(usage, "total_tokens") };
}

/**
 * In all known servers' answers, `data` is the only array: it reaches from the first bracket to the last.
 * @returns null if the rest lacks required members: they may be between two arrays.
 */
function betweenOuterBrackets(body: Buffer): Rest | null {
  const start = body.indexOf(OPEN_BRACKET);
  const end = body.lastIndexOf(CLOSE_BRACKET);
  const answer = start < 0 || end < start ? null : without(body, { start: start + 1, end });
  return answer !== null && ["model", "usage"].every((name) => Object.hasOwn(answer.json, name)) ? answer : null;
}

/** Scans every byte. */
function byMembers(body: Buffer): Rest | null {
  const data = scanMembers(body).findLast(({ name }) => name === "data");
  if (data === undefined || body[data.value.start] !== OPEN_BRACKET) return null;
  return without(body, { start: data.value.start + 1, end: data.value.end - 1 });
}

function without(body: Buffer, { start, end }: { start: number; end: number }): Rest | null {
  if (start + body.length - end > MAX_REST_BYTES) return null;
  const text = Buffer.concat([body.subarray(0, start), body.subarray(end)]);
  const json = parseObject(text.toString("utf8"));
  // If other brackets were found, the rest is not JSON, or has no list.
  if (json === null || !Array.isArray(json["data"])) return null;
  const missing = end - start;
  const isEmpty = skipSpace(body, start) >= end;
  return {
    json,
    isEmpty,
    outline: createOutline({ text, media: NO_MEDIA, toOriginal: (at) => (at < start ? at : at + missing) }),
  };
}

function readNoList(body: Buffer): GatewayError {
  const json = body.length > MAX_REST_BYTES ? null : parseObject(body.toString("utf8"));
  return noAnswer(json, "The model server's answer is not a list of embeddings.");
}
