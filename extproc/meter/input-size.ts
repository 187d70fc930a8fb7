import type { InputInterface } from "../../contract/protocol.ts";
import type { Price } from "../../ledger/money.ts";
import { sizeInputHold } from "../credit/hold-size.ts";
import type { RequestBody } from "../protocol/json/request-body.ts";
import { measureEmbeddings } from "./embeddings-measure.ts";
import type { InputMeasure } from "./input-measure.ts";
import { createMeter, type MeterBounds } from "./meter.ts";
import { measureRerank } from "./rerank-measure.ts";
import type { RequestSize } from "./request-size.ts";

interface MeasuredModel {
  /** Of one input, or of a query with one document. */
  contextWindow: number | null;
  price: Price;
}

const MEASURES = {
  embeddings: measureEmbeddings,
  rerank: measureRerank,
} as const satisfies Record<InputInterface, (body: RequestBody, contextWindow: number | null) => InputMeasure>;

/**
 * The possible usage of a request of an input interface: what it sends. The answer costs nothing.
 * @throws GatewayError `invalid_request` (S21).
 */
export function sizeInput(
  body: RequestBody,
  { client, model: { contextWindow, price } }: { client: InputInterface; model: MeasuredModel },
): RequestSize {
  const { heldTokens, likelyTokens, maxTokens, units, answerBytes, remedy } = MEASURES[client](body, contextWindow);
  const isCharged = price.unitPicoUsd > 0n;
  const bounds: MeterBounds = {
    tokens: maxTokens,
    outputTokens: 0,
    isTokenFree: isCharged && price.inputPicoUsd === 0n,
    ...(units && { units: { likely: isCharged ? units.likely : 0, max: units.max } }),
  };
  return {
    hold: sizeInputHold({ client, tokens: heldTokens, units: units?.held ?? 0, price, remedy }),
    wantsStream: false,
    answerBytes,
    meter: () => createMeter(likelyTokens, bounds),
  };
}
