import { readForm, textOf } from "../form.ts";
import { PromptError } from "../prompt.ts";

export interface TranscriptionRequest {
  /** It may have a directive, which is not part of the text. */
  prompt: string;
  seconds: number;
  format: string;
  wantsStream: boolean;
}

const FORMATS = ["json", "text", "srt", "verbose_json", "vtt"];
/** Of a WAV file's header: the bytes of a second, and its own length. */
const RATE_AT = 28;
const HEADER_BYTES = 44;
/** Of other files: 64 kbit/s. */
const BYTES_PER_SECOND = 8_000;

/** @throws PromptError if the real servers answer 400. */
export async function parseTranscriptionRequest(body: Buffer, contentType: string): Promise<TranscriptionRequest> {
  const form = await readForm(body, contentType);
  const file = form.get("file");
  if (!(file instanceof File)) throw new PromptError("file", "a file is required");
  if (textOf(form, "model") === "") throw new PromptError("model", "is required");
  const format = textOf(form, "response_format") || "json";
  if (!FORMATS.includes(format)) throw new PromptError("response_format", `must be one of ${FORMATS.join(", ")}`);
  return {
    prompt: textOf(form, "prompt"),
    seconds: secondsOf(Buffer.from(await file.arrayBuffer())),
    format,
    wantsStream: textOf(form, "stream") === "true",
  };
}

function secondsOf(file: Buffer): number {
  const isWav = file.length > HEADER_BYTES && file.toString("latin1", 0, 4) === "RIFF";
  return isWav ? (file.length - HEADER_BYTES) / Math.max(1, file.readUInt32LE(RATE_AT)) : file.length / BYTES_PER_SECOND;
}
