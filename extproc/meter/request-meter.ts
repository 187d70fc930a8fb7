import type { CatalogueModel } from "../../contract/catalogue.ts";
import { createMeter, MOST_TOKENS, type Meter } from "./meter.ts";

export interface RequestMeterInput {
  /** Our own count of the prompt (prompt-size.ts). */
  likelyPromptTokens: number;
  model: Pick<CatalogueModel, "contextWindow" | "maxOutputTokens">;
  /** How many answers it asks for. */
  answers: number;
  /** The prompt as it is held. */
  heldPromptTokens: number;
}

/** The meter of one request: our own count of a prompt is never more than the model can read, nor than what is held for it. */
export function createRequestMeter({ likelyPromptTokens, model, answers, heldPromptTokens }: RequestMeterInput): Meter {
  const { contextWindow, maxOutputTokens } = model;
  const promptTokens = Math.min(likelyPromptTokens, heldPromptTokens, contextWindow ?? Infinity);
  return createMeter(promptTokens, (contextWindow ?? MOST_TOKENS) + maxOutputTokens * answers);
}
