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
  const textOf = (name: string) => {
    const value = form.get(name);
    return typeof value === "string" ? value : "";
  };
  if (!(file instanceof File)) throw new PromptError("file", "a file is required");
  if (textOf("model") === "") throw new PromptError("model", "is required");
  const format = textOf("response_format") || "json";
  if (!FORMATS.includes(format)) throw new PromptError("response_format", `must be one of ${FORMATS.join(", ")}`);
  return {
    prompt: textOf("prompt"),
    seconds: secondsOf(Buffer.from(await file.arrayBuffer())),
    format,
    wantsStream: textOf("stream") === "true",
  };
}

async function readForm(body: Buffer, contentType: string) {
  try {
    return await new Response(new Uint8Array(body), { headers: { "content-type": contentType } }).formData();
  } catch {
    throw new PromptError("body", "not a form");
  }
}

function secondsOf(file: Buffer): number {
  const isWav = file.length > HEADER_BYTES && file.toString("latin1", 0, 4) === "RIFF";
  return isWav ? (file.length - HEADER_BYTES) / Math.max(1, file.readUInt32LE(RATE_AT)) : file.length / BYTES_PER_SECOND;
}
