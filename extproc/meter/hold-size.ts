import { NO_USAGE } from "../../contract/usage.ts";
import { chargeNanoUsd, type Price } from "../../ledger/money.ts";

/** What a request may cost, nano-USD: known before it runs, and not exactly. */
export interface HoldSize {
  /** The whole prompt at list price and every token that it may produce. */
  fullNanoUsd: bigint;
  /** The least with which it may begin: a stream that can be stopped needs only its prompt and a first stretch. */
  leastNanoUsd: bigint;
  /** The prompt as it is held. */
  promptTokens: number;
}

export interface HoldSizeInput {
  /** Size of the request body as received. */
  promptBytes: number;
  /** What the client allows; null where it says nothing. */
  maxOutputTokens: number | null;
  /** How many answers it asks for (chat's `n`). */
  answers: number;
  isStream: boolean;
  model: { contextWindow: number | null; maxOutputTokens: number; price: Price };
}

/**
 * The meter's own estimate is four bytes a token (meter.ts); a third more covers texts that take more tokens, and the
 * JSON around them comes on top. Inline images count by their bytes, so the model's context window is the cap.
 */
const PROMPT_BYTES_PER_TOKEN = 3;
const MOST_ANSWERS = 128;
/** A stream may begin on this many output tokens, and is extended or stopped from there. */
export const FIRST_STRETCH_TOKENS = 256;

/** Cached prompts cost less and are never counted on; writing a cache may cost more, and is. */
export function sizeHold({ promptBytes, maxOutputTokens, answers, isStream, model }: HoldSizeInput): HoldSize {
  const { price } = model;
  const promptTokens = Math.min(Math.ceil(promptBytes / PROMPT_BYTES_PER_TOKEN), model.contextWindow ?? Infinity);
  const outputTokens = Math.min(maxOutputTokens ?? model.maxOutputTokens, model.maxOutputTokens) * answers;
  const dearest: Price = {
    ...price,
    inputPicoUsd: price.inputPicoUsd > price.cacheWritePicoUsd ? price.inputPicoUsd : price.cacheWritePicoUsd,
  };
  const cost = (output: number) => chargeNanoUsd({ ...NO_USAGE, inputTokens: promptTokens, outputTokens: output }, dearest);
  const fullNanoUsd = cost(outputTokens);
  return { promptTokens, fullNanoUsd, leastNanoUsd: isStream ? cost(Math.min(outputTokens, FIRST_STRETCH_TOKENS)) : fullNanoUsd };
}

/** How many answers a chat request asks for; what is no number is the upstream's to refuse. */
export function countAnswers(request: { readonly [name: string]: unknown }): number {
  const { n: answers } = request;
  return typeof answers === "number" && Number.isInteger(answers) ? Math.min(Math.max(answers, 1), MOST_ANSWERS) : 1;
}
