import type { InputInterface } from "../../contract/protocol.ts";
import type { Price } from "../../ledger/money.ts";
import { sizePromptHold } from "../credit/hold-size.ts";
import type { RequestBody } from "../protocol/json/request-body.ts";
import { measureEmbeddings } from "./embeddings-measure.ts";
import type { InputMeasure } from "./input-measure.ts";
import { createMeter } from "./meter.ts";
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
  const { heldTokens, likelyTokens, maxTokens, answerBytes, remedy } = MEASURES[client](body, contextWindow);
  return {
    hold: sizePromptHold(heldTokens, { price, remedy }),
    wantsStream: false,
    answerBytes,
    meter: () => createMeter(likelyTokens, { tokens: maxTokens, outputTokens: 0 }),
  };
}
