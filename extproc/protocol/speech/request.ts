import * as z from "zod";
import { GatewayError } from "../../../contract/errors.ts";
import { measureInstruction } from "../instruction.ts";
import { inWords } from "../in-words.ts";
import type { RequestBody } from "../json/request-body.ts";
import { checkGuardedNames, findField, SPEECH_NAMES } from "../output/guarded-names.ts";
import { requestError } from "../request-error.ts";

/** About two hours of speech; OpenAI's own models take 4,096. */
const MAX_CHARACTERS = 100_000;
/** A character in JSON, at most: two escapes. */
const BYTES_PER_CHARACTER = 12;

/** What a request for speech asks for. */
export interface SpeechRequest {
  /** Unicode code points of the text. */
  characters: number;
  /** Of the text and of everything else that a server may read with it, as JSON writes it. */
  textBytes: number;
}

/** Sound as it comes, or events that hold it in pieces. */
const FORMATS = ["audio", "sse"] as const;
const SEND_FORMAT = FORMATS.map((format) => `"${format}"`).join(" or ");

const fieldsSchema = z.object({
  stream_format: z.enum(FORMATS, { error: SEND_FORMAT }).nullish(),
  n: z.literal(1, { error: "1, or absent: an answer is one recording" }).nullish(),
  user: z.string({ error: "a string" }).nullish(),
});

/** All but the instructions, which a server reads with the text. */
const KNOWN_FIELDS: ReadonlySet<string> = new Set(SPEECH_NAMES.filter((name) => name !== "instructions"));
/** Names under which some servers take the text. */
const OTHER_TEXTS = ["text", "texts", "inputs", "input_text", "prompt", "messages", "script", "ssml", "transcript"];

/**
 * The content of a request for speech, in OpenAI's form. Fields that only the model server knows pass unread.
 * @throws GatewayError `invalid_request` that names the field that is wrong, or ambiguous (S21, S30).
 */
export function readSpeechRequest(body: RequestBody): SpeechRequest {
  checkGuardedNames(body, "speech");
  const result = fieldsSchema.safeParse(body.outline);
  // An error describes what it found, and a long string is not in the outline.
  if (!result.success) throw requestError(result.error.issues, body.whole());
  const other = findField(body, OTHER_TEXTS);
  if (other !== undefined) throw refuse(other, "is not supported: speech is made from `input` alone. Leave it out.");
  const bytes = body.raw("input")?.length ?? 0;
  return { characters: readCharacters(body, bytes), textBytes: bytes + measureInstruction(body, KNOWN_FIELDS) };
}

/** For a request that was read before. */
export function wantsEvents({ outline }: RequestBody): boolean {
  return outline["stream_format"] === "sse";
}

function readCharacters(body: RequestBody, bytes: number): number {
  // Not parsed: the time of it is bounded.
  if (bytes > MAX_CHARACTERS * BYTES_PER_CHARACTER) throw tooLong();
  const input = body.member("input");
  if (typeof input !== "string" || input === "") {
    const issue = { code: "custom" as const, path: ["input"], message: "a text of at least one character" };
    throw requestError([issue], body.whole());
  }
  const characters = codePointsOf(input);
  if (characters > MAX_CHARACTERS) throw tooLong();
  return characters;
}

function codePointsOf(text: string): number {
  let count = 0;
  for (let at = 0; at < text.length; at++) {
    if ((text.codePointAt(at) ?? 0) > 0xffff) at += 1;
    count += 1;
  }
  return count;
}

function tooLong(): GatewayError {
  return refuse("input", `is longer than ${inWords(MAX_CHARACTERS)} characters. Send it in several requests.`);
}

function refuse(field: string, sentence: string): GatewayError {
  return new GatewayError("invalid_request", `\`${field}\` ${sentence}`, { field });
}
