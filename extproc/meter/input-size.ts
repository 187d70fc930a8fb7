import type { InputInterface } from "../../contract/protocol.ts";
import type { Price } from "../../ledger/money.ts";
import { sizeInputHold } from "../credit/hold-size.ts";
import type { RequestBody } from "../protocol/json/request-body.ts";
import { measureEmbeddings } from "./embeddings-measure.ts";
import type { InputMeasure } from "./input-measure.ts";
import { createMeter, type MeterBounds } from "./meter.ts";
import { measureImages } from "./image-measure.ts";
import { measureRerank } from "./rerank-measure.ts";
import { measureSpeech } from "./speech-measure.ts";
import { measureTranscription } from "./transcription-measure.ts";
import type { RequestSize } from "./request-size.ts";

interface MeasuredModel {
  /** Of one input, or of a query with one document. */
  contextWindow: number | null;
  /** Of one image. */
  maxOutputTokens: number;
  price: Price;
}

const MEASURES = {
  embeddings: (body, { contextWindow }) => measureEmbeddings(body, contextWindow),
  rerank: (body, { contextWindow }) => measureRerank(body, contextWindow),
  image_generation: measureImages,
  speech: (body, { contextWindow }) => measureSpeech(body, contextWindow),
  transcription: measureTranscription,
} as const satisfies Record<InputInterface, (body: RequestBody, model: MeasuredModel) => InputMeasure>;

const NOTHING_MADE = { size: null, quality: null };

/**
 * The possible usage of a request of an input interface: what it sends, and the images that it asks for.
 * @throws GatewayError `invalid_request` (S21).
 */
export function sizeInput(body: RequestBody, { client, model }: { client: InputInterface; model: MeasuredModel }): RequestSize {
  const measure = MEASURES[client](body, model);
  const { heldTokens, likelyTokens, maxTokens, units, output, unitPriceOf, isStream = false, answerBytes, remedy } = measure;
  const unitPicoUsd = unitPriceOf?.(NOTHING_MADE).picoUsd ?? model.price.unitPicoUsd;
  const price = { ...model.price, unitPicoUsd };
  const isCharged = unitPicoUsd > 0n;
  const bounds: MeterBounds = {
    promptTokens: maxTokens,
    tokens: maxTokens + (output?.tokens ?? 0),
    outputTokens: output?.tokens ?? 0,
    isTokenFree: isCharged && price.inputPicoUsd === 0n && price.outputPicoUsd === 0n,
    ...(units && {
      units: {
        likely: isCharged ? units.likely : 0,
        max: units.max,
        isCapped: units.isCapped === true,
        isMeasured: units.isMeasured === true,
        priceOf: unitPriceOf,
      },
    }),
    ...(output?.eachTokens !== undefined && { eachTokens: output.eachTokens }),
  };
  return {
    hold: sizeInputHold({
      client,
      tokens: heldTokens,
      outputTokens: output?.tokens ?? 0,
      units: units?.held ?? 0,
      price,
      remedy,
    }),
    unitPicoUsd,
    wantsStream: isStream,
    answerBytes,
    meter() {
      const meter = createMeter(likelyTokens, bounds);
      if (units?.isKnown === true) meter.report({ units: units.held });
      return meter;
    },
  };
}
