import type { InputInterface } from "../../contract/protocol.ts";
import { unitsInWords } from "../../contract/units.ts";
import { NO_USAGE } from "../../contract/usage.ts";
import { chargeNanoUsd, coveredPicoUsd, PICO_PER_NANO, type Price } from "../../ledger/money.ts";
import { inWords } from "../protocol/in-words.ts";
import type { OutputAsk } from "../protocol/output/output-ask.ts";

/** The possible cost of a request in nano-USD, and the output limit that a given hold covers. */
export interface HoldSize {
  /** The whole prompt at list price, and every token that it may produce. */
  fullNanoUsd: bigint;
  /** The minimum to start: its prompt and the minimum of output tokens. */
  minNanoUsd: bigint;
  /** The client set no output limit: the request gets one that a bounded part of the credit covers (S37). */
  isOpen: boolean;
  /** The prompt as it is held. */
  promptTokens: number;
  /** The limit sent upstream for a hold of this amount: tokens for each answer. */
  outputTokens(heldNanoUsd: bigint): number;
  /** What an amount of credit covers, and what is required: part of a refusal's text. */
  describe(coveredNanoUsd: bigint): string;
  /** The alternative for the client, as the beginning of a sentence. */
  remedy: string;
}

export interface HoldSizeInput {
  /** The prompt as it is held (held-prompt.ts). */
  promptTokens: number;
  /** The prompt's probable size: the rest of the context window is for output. */
  likelyPromptTokens: number;
  ask: Pick<OutputAsk, "limit" | "answers">;
  model: { contextWindow: number | null; maxOutputTokens: number; price: Price };
}

/** The minimum output for a request without a limit (S37); a lower limit set by the client is its own minimum. */
const FLOOR_TOKENS = 1_024;
/** How far a stream whose server ignores its limit may be ahead of its hold. */
export const STRETCH_TOKENS = 256;

/** Cached prompts cost less, which is not relied on; cache writes may cost more, which is. */
export function sizeHold({ promptTokens, likelyPromptTokens, ask, model }: HoldSizeInput): HoldSize {
  const { price } = model;
  const fullTokens = Math.min(ask.limit ?? roomBehind(likelyPromptTokens, model.contextWindow), model.maxOutputTokens);
  const minTokens = Math.min(fullTokens, FLOOR_TOKENS);
  const answers = BigInt(ask.answers);
  const promptPicoUsd =
    BigInt(promptTokens) * (price.inputPicoUsd > price.cacheWritePicoUsd ? price.inputPicoUsd : price.cacheWritePicoUsd);
  const tokenPicoUsd = price.outputPicoUsd * answers;
  const cost = (tokens: number) =>
    chargeNanoUsd(
      { ...NO_USAGE, inputTokens: 1, outputTokens: tokens },
      { ...price, inputPicoUsd: promptPicoUsd, outputPicoUsd: tokenPicoUsd },
    );
  const fullNanoUsd = cost(fullTokens);
  const minNanoUsd = cost(minTokens);

  /** Rounded down: the sent limit never costs more than the hold. */
  function affordable(nanoUsd: bigint): number {
    if (nanoUsd >= fullNanoUsd || tokenPicoUsd === 0n) return fullTokens;
    const coveredByIt = coveredPicoUsd(nanoUsd, price);
    // A fee may be the same for any number of tokens: this amount is below it.
    if (coveredByIt === null) return 0;
    const tokens = Number((coveredByIt - promptPicoUsd) / tokenPicoUsd);
    return Math.max(Math.min(tokens, fullTokens), 0);
  }

  return {
    fullNanoUsd,
    minNanoUsd,
    isOpen: ask.limit === null,
    promptTokens,
    outputTokens: (heldNanoUsd) =>
      heldNanoUsd >= minNanoUsd ? Math.max(affordable(heldNanoUsd), minTokens) : affordable(heldNanoUsd),
    describe(coveredNanoUsd) {
      const each = ask.answers === 1 ? "" : ` for each of ${ask.answers} answers`;
      return `covers ${inWords(affordable(coveredNanoUsd))} output tokens${each} after the prompt, and this request needs ${inWords(minTokens)}`;
    },
    remedy: "Set a lower output token limit",
  };
}

export interface InputHoldInput {
  client: InputInterface;
  /** As they are held. */
  tokens: number;
  /** Of the answer. */
  outputTokens?: number;
  units: number;
  price: Price;
  remedy: string;
}

/** The same for a request of an input interface, whose cost is known but for the server's count. */
export function sizeInputHold(input: InputHoldInput): HoldSize {
  const { client, tokens: promptTokens, outputTokens = 0, units, price, remedy } = input;
  const fullNanoUsd = chargeNanoUsd({ ...NO_USAGE, inputTokens: promptTokens, outputTokens, units }, price);
  return {
    fullNanoUsd,
    minNanoUsd: fullNanoUsd,
    isOpen: false,
    promptTokens,
    outputTokens: () => 0,
    describe(coveredNanoUsd) {
      const listPicoUsd = coveredPicoUsd(coveredNanoUsd, price);
      if (price.fee !== undefined && (listPicoUsd === null || coveredNanoUsd * PICO_PER_NANO < price.fee.requestPicoUsd))
        return "does not cover the fee of this request";
      const coveredOf = (picoUsd: bigint) => Number((listPicoUsd ?? 0n) / picoUsd);
      if (outputTokens > 0 && price.outputPicoUsd > 0n)
        return `does not cover the ${unitsInWords({ interface: client, units })} of up to ${inWords(outputTokens)} output tokens that this request may have`;
      if (price.unitPicoUsd > 0n && price.inputPicoUsd > 0n)
        return `does not cover the ${unitsInWords({ interface: client, units })} and ${inWords(promptTokens)} input tokens that this request may have`;
      if (price.unitPicoUsd > 0n)
        return `covers ${unitsInWords({ interface: client, units: coveredOf(price.unitPicoUsd) })}, and this request may have ${inWords(units)}`;
      const covered = price.inputPicoUsd === 0n ? promptTokens : coveredOf(price.inputPicoUsd);
      return `covers ${inWords(covered)} input tokens, and this request may have ${inWords(promptTokens)}`;
    },
    remedy,
  };
}

/** Servers reject a limit that does not fit into the context window after the prompt. */
function roomBehind(promptTokens: number, contextWindow: number | null): number {
  if (contextWindow === null) return Infinity;
  return Math.max(contextWindow - promptTokens, FLOOR_TOKENS);
}
