import { withoutDirective, type Directive } from "../directive.ts";
import { countTokens } from "../prompt.ts";
import type { SseEvent } from "../sse.ts";
import type { SpeechRequest } from "./request.ts";

const SAMPLES_PER_SECOND = 24_000;
const SAMPLES_PER_CHARACTER = 1_200;
const BYTES_PER_SAMPLE = 2;

/** As OpenAI's newer models count them: about twenty for a second. */
const TOKENS_PER_CHARACTER = 1;

/** A WAV file, or its samples alone, in pieces: a tone for each character, whose height follows from it. */
export function* soundPieces({ input, isPcm }: SpeechRequest): Generator<Buffer> {
  const characters = Array.from(withoutDirective(input));
  if (!isPcm) yield wavHeader(characters.length * SAMPLES_PER_CHARACTER * BYTES_PER_SAMPLE);
  for (const character of characters) yield tone(200 + ((character.codePointAt(0) ?? 0) % 60) * 10);
}

/** The same in OpenAI's events. */
export function* speechEvents(asked: SpeechRequest, { withoutUsage }: Directive): Generator<SseEvent> {
  for (const piece of soundPieces(asked))
    yield { data: JSON.stringify({ type: "speech.audio.delta", audio: piece.toString("base64") }) };
  const inputTokens = countTokens(asked.input, "");
  const outputTokens = Array.from(withoutDirective(asked.input)).length * TOKENS_PER_CHARACTER;
  const usage = { input_tokens: inputTokens, output_tokens: outputTokens, total_tokens: inputTokens + outputTokens };
  yield { data: JSON.stringify({ type: "speech.audio.done", ...(withoutUsage ? {} : { usage }) }) };
}

function tone(hertz: number): Buffer {
  const bytes = Buffer.alloc(SAMPLES_PER_CHARACTER * BYTES_PER_SAMPLE);
  for (let sample = 0; sample < SAMPLES_PER_CHARACTER; sample++) {
    const height = Math.round(8_000 * Math.sin((2 * Math.PI * hertz * sample) / SAMPLES_PER_SECOND));
    bytes.writeInt16LE(height, sample * BYTES_PER_SAMPLE);
  }
  return bytes;
}

/** One channel of 16 bits. */
function wavHeader(dataBytes: number): Buffer {
  const header = Buffer.alloc(44);
  header.write("RIFF", 0);
  header.writeUInt32LE(36 + dataBytes, 4);
  header.write("WAVEfmt ", 8);
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(1, 20);
  header.writeUInt16LE(1, 22);
  header.writeUInt32LE(SAMPLES_PER_SECOND, 24);
  header.writeUInt32LE(SAMPLES_PER_SECOND * BYTES_PER_SAMPLE, 28);
  header.writeUInt16LE(BYTES_PER_SAMPLE, 32);
  header.writeUInt16LE(8 * BYTES_PER_SAMPLE, 34);
  header.write("data", 36);
  header.writeUInt32LE(dataBytes, 40);
  return header;
}
