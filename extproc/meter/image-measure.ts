import { MAX_REQUEST_BYTES } from "../../contract/headers.ts";
import { imagePriceOf } from "../../ledger/models/image-price.ts";
import type { Price } from "../../ledger/money.ts";
import { readImageRequest } from "../protocol/image-generation/request.ts";
import type { RequestBody } from "../protocol/json/request-body.ts";
import { heldTokensOf } from "./held-prompt.ts";
import type { InputMeasure } from "./input-measure.ts";
import { IMAGE_TOKENS, MAX_IMAGE_TOKENS } from "./media-tokens.ts";
import { estimateTokens } from "./meter.ts";

/** Tokens that servers add to a prompt. */
const FRAME_TOKENS = 32;
/** Text has at most a token for each byte; no instruction of a server's own is this long. */
const MAX_FRAME_TOKENS = 4_096;

/** Of a picture of a million pixels in base64: most are smaller. */
const IMAGE_BYTES = 2 * 1024 * 1024;
const URL_BYTES = 4 * 1024;
/** Envoy has as much room for an answer as for a request. */
const MAX_ANSWER_BYTES = MAX_REQUEST_BYTES;

interface ImageModel {
  /** Of the prompt, without pictures. */
  contextWindow: number | null;
  /** Of one image. */
  maxOutputTokens: number;
  price: Price;
}

/**
 * The images of a request, at the highest price that they can have, its prompt, and the pictures of an edit.
 * @throws GatewayError `invalid_request` (S21).
 */
export function measureImages(body: RequestBody, { contextWindow, maxOutputTokens, price }: ImageModel): InputMeasure {
  const { count, size, quality, promptBytes, pictures, isByUrl } = readImageRequest(body, (price.imagePrices ?? []).length > 0);
  const read = (tokens: number) => Math.min(tokens, contextWindow ?? Infinity);
  // Without a price, tokens are counted as reported, and not at all if they are not.
  const eachTokens = price.outputPicoUsd > 0n ? maxOutputTokens : 0;
  return {
    heldTokens: read(heldTokensOf(promptBytes) + FRAME_TOKENS) + pictures * MAX_IMAGE_TOKENS,
    likelyTokens: read(estimateTokens(promptBytes)) + pictures * IMAGE_TOKENS,
    maxTokens: promptBytes + MAX_FRAME_TOKENS + pictures * MAX_IMAGE_TOKENS,
    units: { held: count, likely: count, max: count },
    output: { tokens: count * maxOutputTokens, eachTokens },
    unitPriceOf: (made) => imagePriceOf(price, { size: size ?? made.size, quality: quality ?? made.quality }),
    answerBytes: Math.min(count * (isByUrl ? URL_BYTES : IMAGE_BYTES), MAX_ANSWER_BYTES),
    remedy: "Ask for fewer images, or for a smaller `size` or a lower `quality` if the model's prices depend on them",
  };
}
