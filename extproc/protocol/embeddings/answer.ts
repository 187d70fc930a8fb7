import { GatewayError } from "../../../contract/errors.ts";
import { noAnswer, type InputAnswer } from "../input-answer.ts";
import { count } from "../json/count.ts";
import { NO_MEDIA } from "../json/media.ts";
import { parseObject, type JsonObject } from "../json/object.ts";
import { createOutline, type Outline } from "../json/outline.ts";
import { inWords } from "../in-words.ts";
import { scanMembers, skipSeparator, skipSpace, type Member } from "../json/scan.ts";
import type { ErrorReader } from "../upstream-error.ts";

/** An answer without its vectors. */
interface Rest {
  /** Its list of them, as written. */
  readonly list: Buffer;
  /** The text with `data` empty. */
  readonly outline: Outline;
  readonly json: JsonObject;
}

const OPEN_BRACE = 123;
const OPEN_BRACKET = 91;
const CLOSE_BRACKET = 93;
/** The rest of the answer: a model's name and a few counts. */
const MAX_REST_BYTES = 64 * 1024;

/**
 * Reads an answer without its vectors: these are nearly all of it, and unused here.
 * @param inputs how many the request has, at least one.
 * @throws GatewayError `upstream_error` if it is not a list of their embeddings; the upstream's own error if it is one.
 */
export function readEmbeddingsAnswer(body: Buffer, inputs: number, reader: ErrorReader): InputAnswer {
  const rest = betweenOuterBrackets(body) ?? byMembers(body);
  if (rest === null) throw readNoList(body, reader);
  checkVectors(rest.list, inputs);
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
  return {
    json,
    list: body.subarray(start - 1, end + 1),
    outline: createOutline({ text, media: NO_MEDIA, toOriginal: (at) => (at < start ? at : at + missing) }),
  };
}

/** Clients assign vectors to their inputs by position or by `index`: with one too few, all that follow would be another's. */
function checkVectors(list: Buffer, inputs: number): void {
  const seen = new Set<number>();
  let vectors = 0;
  for (let at = skipSpace(list, 1); list[at] === OPEN_BRACE; vectors += 1) {
    const members = scanMembers(list, at);
    const index = numberIn(list, members);
    if (index !== null && (seen.has(index) || index < 0 || index >= inputs))
      throw new GatewayError("upstream_error", "The model server's answer has two embeddings for one input, or one for none.");
    if (index !== null) seen.add(index);
    if (hasNoVector(list, members))
      throw new GatewayError("upstream_error", "The model server's answer has an embedding without numbers.");
    at = skipSeparator(list, skipSpace(list, members.at(-1)?.value.end ?? at + 1) + 1);
  }
  if (vectors === inputs) return;
  throw new GatewayError(
    "upstream_error",
    vectors === 0
      ? "The model server's answer has no embedding."
      : `The model server's answer has ${inWords(vectors)} embeddings, and the request has ${inWords(inputs)} inputs.`,
  );
}

/** The `index` of an embedding; null if its server gives none. */
function numberIn(list: Buffer, members: readonly Member[]): number | null {
  const value = members.findLast(({ name }) => name === "index")?.value;
  const index =
    value === undefined ? Number.NaN : Number(list.toString("latin1", value.start, Math.min(value.end, value.start + 8)));
  return Number.isInteger(index) ? index : null;
}

/** `null`, `[]` or `""`. Some models have several vectors for an input, under another name. */
function hasNoVector(list: Buffer, members: readonly Member[]): boolean {
  const value = members.findLast(({ name }) => name === "embedding")?.value;
  return (
    value !== undefined &&
    /^(?:null|\[\s*\]|"")$/.test(list.toString("latin1", value.start, Math.min(value.end, value.start + 8)))
  );
}

function readNoList(body: Buffer, reader: ErrorReader): GatewayError {
  const json = body.length > MAX_REST_BYTES ? null : parseObject(body.toString("utf8"));
  return noAnswer(json, "The model server's answer is not a list of embeddings.", reader);
}
