import type { Price } from "../../ledger/money.ts";
import { sizePromptHold } from "../credit/hold-size.ts";
import { readEmbeddingsRequest } from "../protocol/embeddings/request.ts";
import type { Inputs } from "../protocol/embeddings/input.ts";
import type { RequestBody } from "../protocol/json/request-body.ts";
import { HELD_BYTES_PER_TOKEN } from "./held-prompt.ts";
import { createMeter, estimateTokens, MAX_TOKENS } from "./meter.ts";
import type { RequestSize } from "./request-size.ts";

/** What servers put around each input: its beginning, its end, an instruction of the model's. */
const FRAME_TOKENS = 8;

interface PricedModel {
  /** Of one input. */
  contextWindow: number | null;
  price: Price;
}

/**
 * What a request for embeddings may use: its inputs, each of them no longer than the model reads. Vectors cost nothing.
 * @throws GatewayError `invalid_request` (S21).
 */
export function sizeEmbeddings(body: RequestBody, { contextWindow, price }: PricedModel): RequestSize {
  const inputs = readEmbeddingsRequest(body);
  const read = (tokens: number) => Math.min(tokens, contextWindow ?? Infinity);
  const promptTokens = sumOf(inputs, {
    ofText: (bytes) => read(Math.ceil(bytes / HELD_BYTES_PER_TOKEN) + FRAME_TOKENS),
    ofIds: (ids) => read(ids + FRAME_TOKENS),
  });
  const likelyTokens = sumOf(inputs, { ofText: (bytes) => read(estimateTokens(bytes)), ofIds: read });
  const count = inputs.textBytes.length + inputs.tokens.length;
  return {
    hold: sizePromptHold(promptTokens, price),
    wantsStream: false,
    meter: () =>
      createMeter(likelyTokens, { tokens: Math.min(count * (contextWindow ?? MAX_TOKENS), MAX_TOKENS), outputTokens: 0 }),
  };
}

interface Counts {
  ofText(bytes: number): number;
  ofIds(ids: number): number;
}

function sumOf({ textBytes, tokens }: Inputs, { ofText, ofIds }: Counts): number {
  return [...textBytes.map(ofText), ...tokens.map(ofIds)].reduce((sum, each) => sum + each, 0);
}
