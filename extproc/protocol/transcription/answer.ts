import { GatewayError } from "../../../contract/errors.ts";
import { noAnswer } from "../input-answer.ts";
import { ANSWER_BOUNDS, ExcessiveStructure, parseWithin } from "../json/bounds.ts";
import { count, member } from "../json/count.ts";
import { isObject, type JsonObject } from "../json/object.ts";
import type { ErrorReader } from "../upstream-error.ts";

/** What a transcription says about its cost: unchecked; NaN for what is no number, undefined if it says nothing. */
export interface TranscriptionReport {
  /** Whole seconds of audio, rounded up. */
  seconds: number | undefined;
  inputTokens: number | undefined;
  outputTokens: number | undefined;
  /** The text, for our own count of its tokens. */
  text: string;
}

/**
 * An answer in JSON.
 * @throws GatewayError `upstream_error` if it is no transcription; the upstream's own error if it is one.
 */
export function readTranscription(body: Buffer, reader: ErrorReader): TranscriptionReport {
  const json = parse(body);
  const text = json?.["text"];
  // Some formats have segments alone.
  if (json === null || (typeof text !== "string" && !Array.isArray(json["segments"])))
    throw noAnswer(json, "The model server's answer is not a transcription.", reader);
  return { ...readReport(json), text: typeof text === "string" ? text : "" };
}

/** Of an answer, or of the event that ends a stream: `usage` by tokens or by time, or the `duration` of the recording. */
export function readReport({ usage, duration }: JsonObject): Omit<TranscriptionReport, "text"> {
  return {
    // Some servers write both; the usage is what they bill.
    seconds: secondsIn(member(usage, "seconds") ?? member(usage, "duration") ?? duration),
    inputTokens: count(usage, "input_tokens") ?? count(usage, "prompt_tokens"),
    outputTokens: count(usage, "output_tokens") ?? count(usage, "completion_tokens"),
  };
}

/** Where the last line of subtitles ends, in seconds, rounded up; undefined for other texts. */
export function lastLineEnds(text: Buffer): number | undefined {
  const at = text.lastIndexOf(ARROW);
  if (at < 0) return undefined;
  const after = text.toString("latin1", at + ARROW.length, at + ARROW.length + LONGEST_TIME);
  const [, hours = "0", minutes, seconds] = /^[ \t]*(?:(\d{1,4}):)?(\d{2}):(\d{2}[.,]\d{3})/.exec(after) ?? [];
  if (minutes === undefined || seconds === undefined) return undefined;
  return Math.ceil(Number(hours) * 3_600 + Number(minutes) * 60 + Number(seconds.replace(",", ".")));
}

const ARROW = Buffer.from("-->");
const LONGEST_TIME = 24;

/** Some servers write the number as a text. */
function secondsIn(value: unknown): number | undefined {
  if (value === undefined || value === null) return undefined;
  const seconds = typeof value === "string" && /^\d+(\.\d+)?$/.test(value) ? Number(value) : value;
  return typeof seconds === "number" && Number.isFinite(seconds) && seconds >= 0 ? Math.ceil(seconds) : Number.NaN;
}

function parse(body: Buffer): JsonObject | null {
  try {
    const json = parseWithin(body, ANSWER_BOUNDS);
    return isObject(json) ? json : null;
  } catch (cause) {
    if (cause instanceof SyntaxError) return null;
    if (!(cause instanceof ExcessiveStructure)) throw cause;
    throw new GatewayError("upstream_error", "The model server's answer is larger than a transcription can be.", { cause });
  }
}
