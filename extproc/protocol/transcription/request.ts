import { GatewayError } from "../../../contract/errors.ts";
import type { Form } from "../form/form.ts";
import type { RequestBody } from "../json/request-body.ts";
import { checkGuardedNames, findField } from "../output/guarded-names.ts";
import { soundLength, type SoundLength } from "../sound/length.ts";

/** What a request for a transcription asks for. */
export interface TranscriptionRequest {
  length: SoundLength;
  /** Of the prompt and all other fields. */
  textBytes: number;
  wantsStream: boolean;
}

/** Names under which some servers take a recording, which the gateway could not measure. */
const OTHER_RECORDINGS = [
  "url",
  "file_url",
  "audio_url",
  "audio",
  "audio_file",
  "file_id",
  "files",
  "input",
  "input_audio",
  "source",
];

/** Formats of an answer that is no JSON. */
const TEXT_FORMATS = ["text", "srt", "vtt"] as const;
export type TextFormat = (typeof TEXT_FORMATS)[number];

/**
 * The content of a request for a transcription, in OpenAI's form. Fields that only the model server knows pass unread.
 * @throws GatewayError `invalid_request` that names the field that is wrong, or ambiguous (S21, S30).
 */
export function readTranscriptionRequest(body: RequestBody): TranscriptionRequest {
  checkGuardedNames(body, "transcription");
  const { outline } = body;
  const other = findField(body, OTHER_RECORDINGS);
  if (other !== undefined) throw refuse(other, "is not supported: only `file` is transcribed. Leave it out.");
  const format = outline["response_format"];
  if (format !== undefined && typeof format !== "string") throw refuse("response_format", "appears twice. Send it once.");
  const { files, textBytes } = formOf(body);
  const [file] = files;
  if (file === undefined) throw new Error("a form without a file was read");
  return { length: soundLength(file.bytes), textBytes, wantsStream: readStream(outline["stream"]) };
}

export function formOf({ form }: RequestBody): Form {
  if (form === undefined) throw new Error("a request for a transcription is a form");
  return form;
}

/** For a request that was read before. */
export function wantsEvents({ outline }: RequestBody): boolean {
  return outline["stream"] === "true";
}

/** The same. Null for JSON. */
export function wantedText({ outline }: RequestBody): TextFormat | null {
  return TEXT_FORMATS.find((format) => format === outline["response_format"]) ?? null;
}

function readStream(value: unknown): boolean {
  if (value === "true") return true;
  if (value === undefined || value === "false" || value === "") return false;
  // Servers differ in what else they take for true.
  throw refuse("stream", "must be `true` or `false`.");
}

function refuse(field: string, sentence: string): GatewayError {
  return new GatewayError("invalid_request", `\`${field}\` ${sentence}`, { field });
}
