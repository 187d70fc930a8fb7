import type { Protocol } from "../../contract/protocol.ts";
import type { RequestBody } from "../protocol/json/request-body.ts";
import { readOutputAsk } from "../protocol/output/output-ask.ts";
import type { WorldModel } from "../world/world.ts";
import { holdPrompt } from "./held-prompt.ts";
import { sizeHold, type HoldSize } from "../credit/hold-size.ts";
import { sizePrompt } from "./prompt-size.ts";
import type { Meter } from "./meter.ts";
import { createRequestMeter } from "./request-meter.ts";

export interface RequestSize {
  /** The credit required to run it. */
  hold: HoldSize;
  /** The highest possible price of a unit; absent for conversations, which have none. */
  unitPicoUsd?: bigint;
  wantsStream: boolean;
  /** Of the answer, if it is known to be large: memory is reserved for it. */
  answerBytes: number;
  /** Created when it runs. @param outputTokens the limit that is sent, for each answer. */
  meter(outputTokens: number): Meter;
}

/** The possible usage of a conversation: its prompt, and the requested output. */
export function sizeRequest(body: RequestBody, { protocol, model }: { protocol: Protocol; model: WorldModel }): RequestSize {
  const ask = readOutputAsk(body, protocol);
  const promptTokens = holdPrompt(body, model.contextWindow);
  const likelyPromptTokens = sizePrompt(body).tokens;
  return {
    hold: sizeHold({ promptTokens, likelyPromptTokens, ask, model }),
    wantsStream: ask.wantsStream,
    answerBytes: 0,
    meter(outputTokens) {
      const { answers, isCompacting } = ask;
      const heldPromptTokens = promptTokens;
      return createRequestMeter({ likelyPromptTokens, heldPromptTokens, answers, outputTokens, isCompacting, model });
    },
  };
}
