import type { CatalogueModel } from "../../contract/catalogue.ts";
import { createMeter, MAX_TOKENS, type Meter } from "./meter.ts";

export interface RequestMeterInput {
  /** Our own count of the prompt (prompt-size.ts). */
  likelyPromptTokens: number;
  model: Pick<CatalogueModel, "contextWindow" | "maxOutputTokens">;
  /** How many answers it asks for. */
  answers: number;
  /** The limit that is sent, for each of them. */
  outputTokens: number;
  /** The server first writes a summary of the conversation, up to the same limit. */
  isCompacting: boolean;
  /** The prompt as it is held. */
  heldPromptTokens: number;
}

/** The meter of one request: our own count of a prompt never exceeds the context window, or its hold. */
export function createRequestMeter(input: RequestMeterInput): Meter {
  const { likelyPromptTokens, heldPromptTokens, answers, outputTokens, isCompacting } = input;
  const { contextWindow, maxOutputTokens } = input.model;
  const promptTokens = Math.min(likelyPromptTokens, heldPromptTokens, contextWindow ?? Infinity);
  return createMeter(promptTokens, {
    tokens: (contextWindow ?? MAX_TOKENS) + maxOutputTokens * answers,
    outputTokens: outputTokens * (isCompacting ? answers + 1 : answers),
  });
}
