import { GatewayError } from "../../../contract/errors.ts";
import type { Usage } from "../../../contract/usage.ts";
import { count } from "../json/count.ts";
import { NO_MEDIA } from "../json/media.ts";
import { isObject, parseObject, type JsonObject } from "../json/object.ts";
import type { Outline } from "../json/outline.ts";
import { scanMembers } from "../json/scan.ts";
import { readUpstreamErrorPayload } from "../upstream-error.ts";

/** An answer, read without its vectors: these are nearly all of it, and unused here. */
export interface EmbeddingsAnswer {
  /** The text with `data` empty. */
  readonly outline: Outline;
  readonly json: JsonObject;
}

const OPEN_BRACKET = 91;
const CLOSE_BRACKET = 93;
/** The rest of the answer: a model's name and a few counts. */
const MAX_REST_BYTES = 64 * 1024;
const UPSTREAM = "embeddings";

/** @throws GatewayError `upstream_error` if it is not a list of embeddings; the upstream's own error if it is one. */
export function readEmbeddingsAnswer(body: Buffer): EmbeddingsAnswer {
  const answer = betweenOuterBrackets(body) ?? byMembers(body);
  if (answer === null) throw readNoList(body);
  return answer;
}

/**
 * In all known servers' answers, `data` is the only array: it reaches from the first bracket to the last.
 * @returns null if the rest lacks required members: they may be between two arrays.
 */
function betweenOuterBrackets(body: Buffer): EmbeddingsAnswer | null {
  const start = body.indexOf(OPEN_BRACKET);
  const end = body.lastIndexOf(CLOSE_BRACKET);
  const answer = start < 0 || end < start ? null : without(body, { start: start + 1, end });
  return answer !== null && ["model", "usage"].every((name) => Object.hasOwn(answer.json, name)) ? answer : null;
}

/** Scans every byte. */
function byMembers(body: Buffer): EmbeddingsAnswer | null {
  const data = scanMembers(body).findLast(({ name }) => name === "data");
  if (data === undefined || body[data.value.start] !== OPEN_BRACKET) return null;
  return without(body, { start: data.value.start + 1, end: data.value.end - 1 });
}

function without(body: Buffer, { start, end }: { start: number; end: number }): EmbeddingsAnswer | null {
  if (start + body.length - end > MAX_REST_BYTES) return null;
  const text = Buffer.concat([body.subarray(0, start), body.subarray(end)]);
  const json = parseObject(text.toString("utf8"));
  // If other brackets were found, the rest is not JSON, or has no list.
  if (json === null || !Array.isArray(json["data"])) return null;
  const missing = end - start;
  return { json, outline: { text, media: NO_MEDIA, toOriginal: (at) => (at < start ? at : at + missing) } };
}

function readNoList(body: Buffer): GatewayError {
  const json = body.length > MAX_REST_BYTES ? null : parseObject(body.toString("utf8"));
  // Some servers send their error with a 200.
  if (json !== null && (isObject(json["error"]) || json["object"] === "error")) return readUpstreamErrorPayload(json, UPSTREAM);
  return new GatewayError("upstream_error", "The model server's answer is not a list of embeddings.");
}

/** Vectors are not tokens: only the prompt is counted. Undefined if the server reports nothing. */
export function embeddingsUsage({ usage }: JsonObject): Partial<Usage> | undefined {
  const prompt = count(usage, "prompt_tokens") ?? count(usage, "total_tokens");
  return prompt === undefined ? undefined : { inputTokens: prompt };
}
