import { GatewayError } from "../../../contract/errors.ts";
import type { RequestBody } from "../json/request-body.ts";
import { inWords } from "../in-words.ts";
import { scanElements } from "../json/scan.ts";
import { requestError } from "../request-error.ts";

/** OpenAI's maximum for one request. */
export const MAX_INPUTS = 2_048;
export const MAX_INPUT_TOKENS = 300_000;
/** This many bytes of text have at least one token: a text refused for its length is too long for every server. */
const MAX_BYTES_PER_TOKEN = 8;
/** Of vocabularies; some servers store ids in this many bits. */
const MAX_TOKEN_ID = 2 ** 31 - 1;

/** The texts of a request, by their sizes. One of the lists is empty. */
export interface Inputs {
  /** Bytes of each text as JSON writes it, without its quotes. */
  readonly textBytes: readonly number[];
  /** Token ids of each input. */
  readonly tokens: readonly number[];
}

const EXPECTED = "a string, an array of strings, an array of token ids, or an array of arrays of token ids";
const FIELD = "input";

/**
 * Reads `input` in each of its four forms without parsing its texts.
 * @param instructionBytes read with each of them.
 * @throws GatewayError `invalid_request` that names the invalid input, or the number of inputs.
 */
export function readInputs(body: RequestBody, instructionBytes: number): Inputs {
  const input = body.outline[FIELD];
  const inputs = Array.isArray(input) ? readList(body, input) : readText(body, input);
  checkTokens(inputs);
  checkInstruction(inputs, instructionBytes);
  return inputs;
}

/** How many inputs a request has that was read. */
export function inputCount({ outline }: RequestBody): number {
  const input = outline[FIELD];
  return Array.isArray(input) && typeof input[0] !== "number" ? input.length : 1;
}

function readText(body: RequestBody, input: unknown): Inputs {
  if (typeof input !== "string") throw misfit(body, [], EXPECTED);
  const bytes = textLength(body.raw(FIELD));
  if (bytes === 0) throw misfit(body, [], "a text of at least one character");
  return { textBytes: [bytes], tokens: [] };
}

function readList(body: RequestBody, list: readonly unknown[]): Inputs {
  const [first] = list;
  if (first === undefined) throw misfit(body, [], "at least one text");
  if (typeof first === "number") {
    checkIds(body, list, []);
    return { textBytes: [], tokens: [list.length] };
  }
  if (list.length > MAX_INPUTS)
    throw new GatewayError(
      "invalid_request",
      `\`${FIELD}\` has ${list.length} inputs, and a request may have ${MAX_INPUTS}. Send the others in further requests.`,
      { field: FIELD },
    );
  if (typeof first === "string") return readTexts(body, list);
  if (Array.isArray(first)) return readIdLists(body, list);
  throw misfit(body, [0], "a string or an array of token ids");
}

function readTexts(body: RequestBody, list: readonly unknown[]): Inputs {
  const other = list.findIndex((text) => typeof text !== "string");
  if (other >= 0) throw misfit(body, [other], "a string, as the first input is");
  const textBytes = scanElements(body.raw(FIELD) ?? NOTHING).map(textLength);
  const empty = textBytes.indexOf(0);
  if (empty >= 0) throw misfit(body, [empty], "a text of at least one character");
  return { textBytes, tokens: [] };
}

function readIdLists(body: RequestBody, list: readonly unknown[]): Inputs {
  const tokens = list.map((ids, index) => {
    if (!Array.isArray(ids)) throw misfit(body, [index], "an array of token ids, as the first input is");
    if (ids.length === 0) throw misfit(body, [index], "at least one token id");
    checkIds(body, ids, [index]);
    return ids.length;
  });
  return { textBytes: [], tokens };
}

function checkIds(body: RequestBody, ids: readonly unknown[], path: readonly number[]): void {
  const bad = ids.findIndex((id) => typeof id !== "number" || !Number.isInteger(id) || id < 0 || id > MAX_TOKEN_ID);
  if (bad >= 0) throw misfit(body, [...path, bad], "a token id: a whole number of 0 or more");
}

function checkTokens({ textBytes, tokens }: Inputs): void {
  const ids = sum(tokens);
  if (ids > MAX_INPUT_TOKENS) throw tooMany(`has ${inWords(ids)} token ids`);
  const bytes = sum(textBytes);
  if (bytes > MAX_INPUT_TOKENS * MAX_BYTES_PER_TOKEN) throw tooMany(`has ${inWords(bytes)} bytes of text`);
}

/** A short request may cost much: servers read the instruction again with each input. */
function checkInstruction({ textBytes, tokens }: Inputs, instructionBytes: number): void {
  const bytes = instructionBytes * (textBytes.length + tokens.length);
  if (bytes > MAX_INPUT_TOKENS * MAX_BYTES_PER_TOKEN)
    throw tooMany(`comes to ${inWords(bytes)} bytes of text with the request's further fields, which count once for each input`);
}

function tooMany(what: string): GatewayError {
  return new GatewayError(
    "invalid_request",
    `\`${FIELD}\` ${what}, and a request may have ${inWords(MAX_INPUT_TOKENS)} tokens. Send fewer inputs in each request.`,
    { field: FIELD },
  );
}

const NOTHING = Buffer.alloc(0);
const QUOTES = 2;

function textLength(text: Buffer | undefined): number {
  return Math.max((text?.length ?? 0) - QUOTES, 0);
}

function misfit(body: RequestBody, path: readonly number[], expected: string): GatewayError {
  const issue = { code: "custom" as const, path: [FIELD, ...path], message: expected };
  // An error describes what it found, and a long string is not in the outline.
  return requestError([issue], body.whole());
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}
