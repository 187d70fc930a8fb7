import { promisify } from "node:util";
import { constants, gunzip, gzip } from "node:zlib";
import * as z from "zod";
import { PROMPT_LOG_BYTES } from "../../contract/prompt-log.ts";
import { createSealer } from "../sealer.ts";

/** What a request said, and what it was answered. */
export interface PromptContent {
  request: RecordedText;
  /** Null: nothing. */
  answer: RecordedText | null;
}

export interface RecordedText {
  /** As it was sent, with notes in the places of pictures, sound and files. It may not be valid UTF-8. */
  text: Buffer;
  /** Of all that was sent. */
  bytes: number;
  /** Its end is missing. */
  isCut: boolean;
}

/** What a record is bound to: it cannot be opened as that of another account, key or request. */
interface RecordPosition {
  accountId: string;
  keyId: string;
  requestId: string;
}

/** Compresses and encrypts records. */
export interface PromptSealer {
  seal(position: RecordPosition, content: PromptContent): Promise<Buffer>;
  /** @throws Error for a record of another position or pepper, or a damaged one. */
  open(position: RecordPosition, sealed: Buffer): Promise<PromptContent>;
}

const compress = promisify(gzip);
const expand = promisify(gunzip);

/** More than a record has: what was not made here must not fill the memory. */
const MAX_PLAIN_BYTES = 2 * (PROMPT_LOG_BYTES.request + PROMPT_LOG_BYTES.answer);
const NEWLINE = 10;

const sizes = z.strictObject({ length: z.int(), bytes: z.int(), isCut: z.boolean() });
const headSchema = z.strictObject({ request: sizes, answer: sizes.nullable() });

export function createPromptSealer(pepper: Buffer): PromptSealer {
  const sealer = createSealer(pepper, "prompt log");
  return {
    async seal(position, content) {
      const plain = await compress(encode(content), { level: constants.Z_BEST_SPEED });
      return sealer.seal(plain, describe(position));
    },
    async open(position, sealed) {
      const plain = sealer.unseal(sealed, describe(position));
      if (plain === undefined)
        throw new Error(`The prompt record of ${position.requestId} was encrypted with another pepper, or is damaged.`);
      return decode(await expand(plain, { maxOutputLength: MAX_PLAIN_BYTES }));
    },
  };
}

function describe({ accountId, keyId, requestId }: RecordPosition): string {
  return JSON.stringify([accountId, keyId, requestId]);
}

/** A line of JSON, and the two texts. */
function encode({ request, answer }: PromptContent): Buffer {
  const sizesOf = ({ text, bytes, isCut }: RecordedText) => ({ length: text.length, bytes, isCut });
  const head = { request: sizesOf(request), answer: answer && sizesOf(answer) };
  return Buffer.concat([Buffer.from(`${JSON.stringify(head)}\n`), request.text, ...(answer === null ? [] : [answer.text])]);
}

function decode(plain: Buffer): PromptContent {
  const end = plain.indexOf(NEWLINE);
  const parsed: unknown = JSON.parse(plain.toString("utf8", 0, end));
  const { request, answer } = headSchema.parse(parsed);
  const from = end + 1;
  const between = from + request.length;
  return {
    request: { text: plain.subarray(from, between), bytes: request.bytes, isCut: request.isCut },
    answer: answer && {
      text: plain.subarray(between, between + answer.length),
      bytes: answer.bytes,
      isCut: answer.isCut,
    },
  };
}
