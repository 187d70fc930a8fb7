import { GatewayError } from "../../../contract/errors.ts";
import { TRANSLATIONS_PATH, upstreamPath } from "../../../contract/protocol.ts";
import type { Meter } from "../../meter/meter.ts";
import { encodeErrorEvent } from "../../protocol/error-event.ts";
import { member } from "../../protocol/json/count.ts";
import { isObject, type JsonObject } from "../../protocol/json/object.ts";
import { write } from "../../protocol/json/splice.ts";
import { lastLineEnds, readReport, readTranscription } from "../../protocol/transcription/answer.ts";
import { formOf, wantedText, wantsEvents, type TextFormat } from "../../protocol/transcription/request.ts";
import { readUpstreamErrorPayload, type ErrorReader } from "../../protocol/upstream-error.ts";
import type { Translation, TranslationInput } from "../translation.ts";
import { errorReader } from "./error-reader.ts";
import { refusePriceModifiers } from "./price-modifiers.ts";
import { createPassthroughStream, type EventEdit, type StreamRules } from "./stream.ts";

/** Types in which servers send subtitles and plain text; clients read whatever else there is as text, too. */
const TEXT_TYPE = /^(?:text\/(?:plain|vtt|srt)|application\/(?:x-)?(?:subrip|srt))[ \t]*(?:;|$)/i;
/** A page of a proxy, whatever its type: whisper.cpp sends plain text as text/html. */
const PAGE = /^\s*<(?:!doctype\s+html|html)\b/i;
const JSON_TYPE = /^application\/json[ \t]*(?:;|$)/i;

/** The events that end a stream: OpenAI's and Mistral's. */
const DONE: ReadonlySet<string> = new Set(["transcript.text.done", "transcription.done"]);

/**
 * A request for a transcription and its answer: every byte passes unchanged, except for the model's name in the form. The request is
 * checked before, when it is measured (meter/transcription-measure.ts).
 */
export function createTranscriptionPassthrough(input: TranslationInput): Translation {
  const { body, headers, model, backend, requestId } = input;
  refusePriceModifiers(body);
  const form = formOf(body);
  const format = wantedText(body);
  // Read before the body is let go.
  const isTranslation = (headers.get(":path") ?? "").startsWith(`/v1${TRANSLATIONS_PATH}`);
  return {
    upstream: {
      path: isTranslation ? TRANSLATIONS_PATH : upstreamPath("transcription", backend.protocol),
      body: form.withModel(backend.upstreamModel),
      headers: { "content-type": form.contentType },
    },
    ...(isTranslation && { optional: "translate recordings" }),
    dropped: [],
    wantsStream: wantsEvents(body),
    ...createAnswer({ format, modelName: model.name, requestId, reader: errorReader("transcription", input) }),
  };
}

interface AnswerFacts {
  modelName: string;
  requestId: string;
  reader: ErrorReader;
}

/** Separate from the request's body, which its closures would retain. */
function createAnswer({ format, ...facts }: AnswerFacts & { format: TextFormat | null }) {
  return {
    answerType(given) {
      if (format === null) return "application/json";
      return TEXT_TYPE.test(given) || JSON_TYPE.test(given) ? given : "text/plain; charset=utf-8";
    },
    response(received, meter) {
      if (format !== null && !isObjectText(received)) readText(received, { format, meter });
      else readJson(received, meter, facts.reader);
      return received;
    },
    stream: (meter) => createPassthroughStream(createRules(meter, facts)),
  } satisfies Pick<Translation, "answerType" | "response" | "stream">;
}

/** Some servers answer in JSON whatever the format; an error is JSON as well. */
function isObjectText(answer: Buffer): boolean {
  return /^\s*\{/.test(answer.toString("latin1", 0, 64));
}

function readJson(received: Buffer, meter: Meter, reader: ErrorReader): void {
  const { text, seconds, inputTokens, outputTokens } = readTranscription(received, reader);
  meter.produced(text);
  meter.report({ units: seconds, inputTokens, outputTokens });
}

/**
 * Subtitles say when their last line ends: the recording may go on in silence. What looks like it in plain text is the speaker's.
 */
function readText(received: Buffer, { format, meter }: { format: TextFormat; meter: Meter }): void {
  if (PAGE.test(received.toString("latin1", 0, 1024))) throw notTranscription();
  meter.produced(received.toString("utf8"));
  const seconds = format === "text" ? undefined : lastLineEnds(received);
  if (seconds !== undefined) meter.showsUnits(seconds);
}

/**
 * OpenAI's events: `transcript.text.delta` with a piece of the text, and `transcript.text.done` with all of it and the usage. Or
 * vLLM's: chunks as of chat completions, some with usage, and `[DONE]`.
 */
function createRules(meter: Meter, { modelName, requestId, reader }: AnswerFacts): StreamRules {
  let outcome: ReturnType<StreamRules["outcome"]> = "open";
  let hasChunks = false;

  function failed(error: GatewayError): GatewayError {
    outcome = "failed";
    return error;
  }

  return {
    read(_event, json): EventEdit {
      if (json === null) {
        if (hasChunks && outcome === "open") outcome = "complete";
        return "keep";
      }
      const { type, error, delta } = json;
      if (type === "error" || (error !== undefined && error !== null)) return failed(readUpstreamErrorPayload(json, reader));
      if (Array.isArray(json["choices"])) {
        hasChunks = true;
        readChunk(json, json["choices"], meter);
        return typeof json["model"] === "string" ? { members: { model: write(modelName) } } : "keep";
      }
      if (typeof type !== "string" || !type.startsWith("transcript"))
        // Where such a stream ends is not known: its text would be free.
        return typeof (delta ?? json["text"]) === "string" ? failed(unknownStream()) : "keep";
      if (DONE.has(type)) {
        outcome = "complete";
        reportDone(json, meter);
      } else if (typeof delta === "string") meter.produced(delta);
      return "keep";
    },
    findText: () => undefined,
    skimmed() {},
    outcome: () => outcome,
    closing: () => "",
    limited: () => "",
    failed: (error) => encodeErrorEvent("transcription", error, requestId),
    toStream() {
      throw notTranscription();
    },
  };
}

function notTranscription(): GatewayError {
  return new GatewayError("upstream_error", "The model server's answer is not a transcription.");
}

function unknownStream(): GatewayError {
  return new GatewayError(
    "upstream_error",
    "The model server streams transcriptions in an unknown format. Send the request without `stream`.",
  );
}

/** The last usage counts: it covers what came before. */
function readChunk(json: JsonObject, choices: readonly unknown[], meter: Meter): void {
  for (const choice of choices) {
    const content = member(member(choice, "delta"), "content");
    if (typeof content === "string") meter.produced(content);
  }
  if (isObject(json["usage"])) reportUsage(json, meter);
}

function reportUsage(json: JsonObject, meter: Meter): void {
  const { seconds, inputTokens, outputTokens } = readReport(json);
  meter.report({ units: seconds, inputTokens, outputTokens });
}

/** The whole text comes again: it counts if it did not come in pieces. */
function reportDone(json: JsonObject, meter: Meter): void {
  const { text } = json;
  if (meter.outputBytes() === 0 && typeof text === "string") meter.produced(text);
  reportUsage(json, meter);
}
