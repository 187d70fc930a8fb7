import { GatewayError } from "../../../contract/errors.ts";
import { upstreamPath } from "../../../contract/protocol.ts";
import type { Meter } from "../../meter/meter.ts";
import { maxSoundBytes, tooMuchSound } from "../../meter/speech-measure.ts";
import { encodeErrorEvent } from "../../protocol/error-event.ts";
import { count } from "../../protocol/json/count.ts";
import type { JsonObject } from "../../protocol/json/object.ts";
import { write } from "../../protocol/json/splice.ts";
import { readSpeechRequest, wantsEvents } from "../../protocol/speech/request.ts";
import { readUpstreamErrorPayload, type ErrorReader } from "../../protocol/upstream-error.ts";
import type { Translation, TranslationInput } from "../translation.ts";
import { errorReader } from "./error-reader.ts";
import { refusePriceModifiers } from "./price-modifiers.ts";
import { createPassthroughStream, type EventEdit, type StreamRules } from "./stream.ts";

/**
 * A request for speech and its answer: every byte passes unchanged, except for the model's name in the request. The request is
 * checked before, when it is measured (meter/speech-measure.ts).
 */
export function createSpeechPassthrough(input: TranslationInput): Translation {
  const { body, backend, requestId } = input;
  // Here it is that of the voice.
  refusePriceModifiers(body, "speed");
  const maxBytes = maxSoundBytes(readSpeechRequest(body).characters);
  const reader = errorReader("speech", input);
  return {
    upstream: {
      path: upstreamPath("speech", backend.protocol),
      body: body.edit({ model: write(backend.upstreamModel) }),
      headers: {},
    },
    dropped: [],
    wantsStream: true,
    speech: wantsEvents(body) ? { kind: "events" } : { kind: "sound", maxBytes },
    response() {
      throw notSpeech();
    },
    stream: (meter) => createPassthroughStream(createRules(meter, { requestId, maxBytes, reader })),
  };
}

/** Of sound, as base64 in events. */
const EVENT_BYTES_PER_BYTE = 2;

function notSpeech(): GatewayError {
  return new GatewayError("upstream_error", "The model server's answer is not speech.");
}

interface SpeechFacts {
  requestId: string;
  maxBytes: number;
  reader: ErrorReader;
}

/** OpenAI's events: `speech.audio.delta` with a piece in base64, and `speech.audio.done` with the usage. */
function createRules(meter: Meter, { requestId, maxBytes, reader }: SpeechFacts): StreamRules {
  let outcome: ReturnType<StreamRules["outcome"]> = "open";
  let receivedBytes = 0;
  let hasSound = false;

  function failed(error: GatewayError): GatewayError {
    outcome = "failed";
    return error;
  }

  function read(json: JsonObject): EventEdit {
    const { type, error, audio } = json;
    if (type === "error" || (error !== undefined && error !== null)) return failed(readUpstreamErrorPayload(json, reader));
    hasSound ||= type === "speech.audio.delta" && typeof audio === "string" && audio !== "";
    if (type !== "speech.audio.done") return "keep";
    if (!hasSound) return failed(notSpeech());
    outcome = "complete";
    const { usage } = json;
    meter.report({ inputTokens: count(usage, "input_tokens"), outputTokens: 0 });
    return "keep";
  }

  return {
    read({ data }, json) {
      receivedBytes += data.length;
      if (receivedBytes > maxBytes * EVENT_BYTES_PER_BYTE) return failed(tooMuchSound());
      return json === null ? "keep" : read(json);
    },
    findText: () => undefined,
    skimmed() {},
    outcome: () => outcome,
    closing: () => "",
    limited: () => "",
    failed: (error) => encodeErrorEvent("speech", error, requestId),
    toStream() {
      throw notSpeech();
    },
  };
}
