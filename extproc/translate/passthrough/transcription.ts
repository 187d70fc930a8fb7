import { GatewayError } from "../../../contract/errors.ts";
import { TRANSLATIONS_PATH, upstreamPath } from "../../../contract/protocol.ts";
import type { Meter } from "../../meter/meter.ts";
import { encodeErrorEvent } from "../../protocol/error-event.ts";
import type { JsonObject } from "../../protocol/json/object.ts";
import { lastLineEnds, readReport, readTranscription } from "../../protocol/transcription/answer.ts";
import { formOf, wantsEvents, wantsText } from "../../protocol/transcription/request.ts";
import { readUpstreamErrorPayload } from "../../protocol/upstream-error.ts";
import type { Translation, TranslationInput } from "../translation.ts";
import { refusePriceModifiers } from "./price-modifiers.ts";
import { createPassthroughStream, type EventEdit, type StreamRules } from "./stream.ts";

/** Types in which servers send subtitles and plain text; clients read whatever else there is as text, too. */
const TEXT_TYPE = /^(?:text\/(?:plain|vtt|srt)|application\/(?:x-)?(?:subrip|srt))[ \t]*(?:;|$)/i;
const JSON_TYPE = /^application\/json[ \t]*(?:;|$)/i;

/**
 * A request for a transcription and its answer: every byte passes unchanged, except for the model's name in the form. The request is
 * checked before, when it is measured (meter/transcription-measure.ts).
 */
export function createTranscriptionPassthrough({ body, headers, backend, requestId }: TranslationInput): Translation {
  refusePriceModifiers(body);
  const form = formOf(body);
  const isText = wantsText(body);
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
    ...createAnswer({ isText, requestId }),
  };
}

/** Separate from the request's body, which its closures would retain. */
function createAnswer({ isText, requestId }: { isText: boolean; requestId: string }) {
  return {
    answerType(given) {
      if (!isText) return "application/json";
      return TEXT_TYPE.test(given) || JSON_TYPE.test(given) ? given : "text/plain; charset=utf-8";
    },
    response(received, meter) {
      if (isText && !isObjectText(received)) readText(received, meter);
      else readJson(received, meter);
      return received;
    },
    stream: (meter) => createPassthroughStream(createRules(meter, requestId)),
  } satisfies Pick<Translation, "answerType" | "response" | "stream">;
}

/** Some servers answer in JSON whatever the format; an error is JSON as well. */
function isObjectText(answer: Buffer): boolean {
  return /^\s*\{/.test(answer.toString("latin1", 0, 64));
}

function readJson(received: Buffer, meter: Meter): void {
  const { text, seconds, inputTokens, outputTokens } = readTranscription(received);
  meter.produced(text);
  meter.report({ units: seconds, inputTokens, outputTokens });
}

/** Subtitles say when they end, which is nearly the length of the recording. */
function readText(received: Buffer, meter: Meter): void {
  meter.produced(received.toString("utf8"));
  meter.report({ units: lastLineEnds(received) });
}

/** OpenAI's events: `transcript.text.delta` with a piece of the text, and `transcript.text.done` with all of it and the usage. */
function createRules(meter: Meter, requestId: string): StreamRules {
  let outcome: ReturnType<StreamRules["outcome"]> = "open";

  function failed(error: GatewayError): GatewayError {
    outcome = "failed";
    return error;
  }

  return {
    read(_data, json): EventEdit {
      if (json === null) return "keep";
      const { type, error, delta } = json;
      if (type === "error" || (error !== undefined && error !== null))
        return failed(readUpstreamErrorPayload(json, "transcription"));
      if (type === "transcript.text.delta" && typeof delta === "string") meter.produced(delta);
      if (type !== "transcript.text.done") return "keep";
      outcome = "complete";
      reportDone(json, meter);
      return "keep";
    },
    findText: () => undefined,
    skimmed() {},
    outcome: () => outcome,
    closing: () => "",
    limited: () => "",
    failed: (error) => encodeErrorEvent("transcription", error, requestId),
    toStream() {
      throw new GatewayError("upstream_error", "The model server's answer is not a transcription.");
    },
  };
}

/** The whole text comes again: it counts if it did not come in pieces. */
function reportDone(json: JsonObject, meter: Meter): void {
  const { text } = json;
  if (meter.outputBytes() === 0 && typeof text === "string") meter.produced(text);
  const { seconds, inputTokens, outputTokens } = readReport(json);
  meter.report({ units: seconds, inputTokens, outputTokens });
}
