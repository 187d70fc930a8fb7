import { GatewayError } from "../../contract/errors.ts";
import type { RequestBody } from "../protocol/json/request-body.ts";
import { readSpeechRequest } from "../protocol/speech/request.ts";
import { heldTokensOf } from "./held-prompt.ts";
import type { InputMeasure } from "./input-measure.ts";
import { estimateTokens } from "./meter.ts";

/** Tokens that servers add to a text. */
const FRAME_TOKENS = 32;
/** Text has at most a token for each byte; no instruction of a server's own is this long. */
const MAX_FRAME_TOKENS = 4_096;

/** A second at four channels of 48 kHz and 16 bits: a character takes a tenth of one, at the lowest speed four tenths. */
const SOUND_BYTES_PER_CHARACTER = 384 * 1024;
/** Beside them: silence before and after, a picture in the file's header. */
const SOUND_FRAME_BYTES = 8 * 1024 * 1024;

/**
 * The characters of a request for speech, which are known, and its tokens, which only some servers report.
 * @throws GatewayError `invalid_request` (S21).
 */
export function measureSpeech(body: RequestBody, contextWindow: number | null): InputMeasure {
  const { characters, textBytes } = readSpeechRequest(body);
  const read = (tokens: number) => Math.min(tokens, contextWindow ?? Infinity);
  return {
    heldTokens: read(heldTokensOf(textBytes) + FRAME_TOKENS),
    likelyTokens: read(estimateTokens(textBytes)),
    maxTokens: textBytes + MAX_FRAME_TOKENS,
    units: { held: characters, likely: characters, max: characters, isKnown: true },
    isStream: true,
    // Sound passes as it comes.
    answerBytes: 0,
    remedy: "Send a shorter `input`",
  };
}

/** A server that sends more than this does not speak the text. */
export function maxSoundBytes(characters: number): number {
  return SOUND_FRAME_BYTES + characters * SOUND_BYTES_PER_CHARACTER;
}

export function tooMuchSound(): GatewayError {
  return new GatewayError("upstream_error", "The model server sent more audio than the text can have.");
}
