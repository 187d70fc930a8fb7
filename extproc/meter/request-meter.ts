import type { CatalogueModel } from "../../contract/catalogue.ts";
import type { RequestBody } from "../protocol/json/request-body.ts";
import { createMeter, MOST_TOKENS, type Meter } from "./meter.ts";
import { sizePrompt } from "./prompt-size.ts";

export interface RequestMeterInput {
  /** As the client sent it. */
  body: Pick<RequestBody, "bytes" | "outline" | "media">;
  model: Pick<CatalogueModel, "contextWindow" | "maxOutputTokens">;
  /** How many answers it asks for. */
  answers: number;
  /** The prompt as it is held. */
  heldPromptTokens: number;
}

/** The meter of one request: our own count of a prompt is never more than the model can read, nor than what is held for it. */
export function createRequestMeter({ body, model, answers, heldPromptTokens }: RequestMeterInput): Meter {
  const { contextWindow, maxOutputTokens } = model;
  const promptTokens = Math.min(sizePrompt(body).tokens, heldPromptTokens, contextWindow ?? Infinity);
  return createMeter(promptTokens, (contextWindow ?? MOST_TOKENS) + maxOutputTokens * answers);
}
