import type { RequestBody } from "../protocol/json/request-body.ts";
import { readTranscriptionRequest } from "../protocol/transcription/request.ts";
import { heldTokensOf } from "./held-prompt.ts";
import type { InputMeasure } from "./input-measure.ts";
import { estimateTokens } from "./meter.ts";

/** Servers round and pad: by a second, and by one more. */
const SLACK_SECONDS = 2;

/** Input tokens of a second: OpenAI's models have 10, Voxtral 12.5, Qwen 25, Gemini 32. */
const LIKELY_TOKENS_PER_SECOND = 10;
const MAX_TOKENS_PER_SECOND = 32;
/** Output tokens of a second: speech has three words, in scripts with one token for each sign up to eight. */
const OUTPUT_TOKENS_PER_SECOND = 8;
const MIN_OUTPUT_TOKENS = 256;
/** Text has at most a token for each byte; no instruction of a server's own is this long. */
const FRAME_TOKENS = 32;
const MAX_FRAME_TOKENS = 4_096;

/** Of an answer with each word and its times. */
const ANSWER_BYTES_PER_SECOND = 512;
const MAX_ANSWER_BYTES = 4 * 1024 * 1024;

interface TranscribingModel {
  contextWindow: number | null;
  maxOutputTokens: number;
}

/**
 * The sound of a request for a transcription, in seconds, and its tokens. A server's report is believed up to the hold.
 * @throws GatewayError `invalid_request` (S21).
 */
export function measureTranscription(body: RequestBody, { contextWindow, maxOutputTokens }: TranscribingModel): InputMeasure {
  const { length, textBytes, wantsStream } = readTranscriptionRequest(body);
  const heldSeconds = Math.ceil(length.max) + SLACK_SECONDS;
  const likelySeconds = Math.max(1, Math.ceil(length.likely));
  const read = (tokens: number) => Math.min(tokens, contextWindow ?? Infinity);
  const outputTokens = Math.min(MIN_OUTPUT_TOKENS + heldSeconds * OUTPUT_TOKENS_PER_SECOND, maxOutputTokens);
  return {
    heldTokens: read(heldSeconds * MAX_TOKENS_PER_SECOND + heldTokensOf(textBytes) + FRAME_TOKENS),
    likelyTokens: read(likelySeconds * LIKELY_TOKENS_PER_SECOND + estimateTokens(textBytes)),
    maxTokens: heldSeconds * MAX_TOKENS_PER_SECOND + textBytes + MAX_FRAME_TOKENS,
    units: { held: heldSeconds, likely: likelySeconds, max: heldSeconds, isCapped: true, isMeasured: length.isMeasured },
    output: { tokens: outputTokens },
    isStream: wantsStream,
    answerBytes: Math.min(likelySeconds * ANSWER_BYTES_PER_SECOND, MAX_ANSWER_BYTES),
    remedy: "Send a shorter recording, or send it as WAV or MP3, whose length is known",
  };
}
