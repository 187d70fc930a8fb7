import { NO_USAGE } from "../../contract/usage.ts";
import { chargeNanoUsd, type Price } from "../../ledger/money.ts";
import { inWords } from "../protocol/in-words.ts";
import type { OutputAsk } from "../protocol/output/output-ask.ts";

/** What a request may cost, nano-USD, and the output limit that a hold of some amount pays for. */
export interface HoldSize {
  /** The whole prompt at list price, and every token that it may produce. */
  fullNanoUsd: bigint;
  /** The least with which it may begin: its prompt and the floor of output tokens. */
  minNanoUsd: bigint;
  /** The client set no output limit: it is given one that a bounded part of the credit covers (S37). */
  isOpen: boolean;
  /** The prompt as it is held. */
  promptTokens: number;
  /** The limit that is sent upstream for a hold of this amount: tokens for each answer. */
  outputTokens(heldNanoUsd: bigint): number;
  /** What so much credit is enough for, and what it would take: part of a refusal's text. */
  describe(coveredNanoUsd: bigint): string;
  /** What the client can send instead, as the beginning of a sentence. */
  remedy: string;
}

export interface HoldSizeInput {
  /** The prompt as it is held (held-prompt.ts). */
  promptTokens: number;
  /** The prompt as it probably is: what it leaves of the context window. */
  likelyPromptTokens: number;
  ask: Pick<OutputAsk, "limit" | "answers">;
  model: { contextWindow: number | null; maxOutputTokens: number; price: Price };
}

/** What a request without an output limit is worth at the least (S37); a lower limit of the client's own is its floor. */
const FLOOR_TOKENS = 1_024;
/** How far a stream whose server ignores its limit may be ahead of its hold. */
export const STRETCH_TOKENS = 256;

/** Cached prompts cost less and are never counted on; writing a cache may cost more, and is. */
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

  /** Rounded down: what is sent never costs more than what is held. */
  function affordable(nanoUsd: bigint): number {
    if (nanoUsd >= fullNanoUsd || tokenPicoUsd === 0n) return fullTokens;
    const tokens = Number((nanoUsd * PICO_PER_NANO - promptPicoUsd) / tokenPicoUsd);
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

/** The same of a request whose answer has no tokens. */
export function sizePromptHold(promptTokens: number, price: Price): HoldSize {
  const fullNanoUsd = chargeNanoUsd({ ...NO_USAGE, inputTokens: promptTokens }, price);
  return {
    fullNanoUsd,
    minNanoUsd: fullNanoUsd,
    isOpen: false,
    promptTokens,
    outputTokens: () => 0,
    describe(coveredNanoUsd) {
      const covered = price.inputPicoUsd === 0n ? promptTokens : Number((coveredNanoUsd * PICO_PER_NANO) / price.inputPicoUsd);
      return `covers ${inWords(covered)} input tokens, and this request may have ${inWords(promptTokens)}`;
    },
    remedy: "Send fewer or shorter inputs",
  };
}

const PICO_PER_NANO = 1_000n;

/** Servers refuse a limit that does not fit into the context window behind the prompt. */
function roomBehind(promptTokens: number, contextWindow: number | null): number {
  if (contextWindow === null) return Infinity;
  return Math.max(contextWindow - promptTokens, FLOOR_TOKENS);
}
