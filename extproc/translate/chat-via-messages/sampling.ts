import type { Profile } from "../../../contract/profile.ts";
import type { ChatRequest } from "../../protocol/chat/request.ts";

export interface SamplingFacts {
  rejects: Profile["rejects"];
  /** While thinking, messages allows temperature 1, no top_k, and top_p from 0.95. */
  isThinking: boolean;
}

type SamplingWish = Pick<ChatRequest, "temperature" | "top_p" | "top_k" | "stop">;

export interface SamplingPlan {
  fields: { temperature?: number; top_p?: number; top_k?: number; stop_sequences?: string[] };
  dropped: string[];
}

const MAX_TEMPERATURE = 1;
const LEAST_THINKING_TOP_P = 0.95;

/** Sampling and stop sequences within what messages, this upstream and thinking allow. */
export function planSampling(request: SamplingWish, { rejects, isThinking }: SamplingFacts): SamplingPlan {
  const fields: SamplingPlan["fields"] = {};
  const dropped: string[] = [];

  const temperature = typeof request.temperature === "number" ? Math.min(request.temperature, MAX_TEMPERATURE) : null;
  if (temperature !== null) {
    if (rejects.includes("temperature") || (isThinking && temperature !== 1)) dropped.push("temperature");
    else fields.temperature = temperature;
  }
  // 1 is the default of both protocols, and some servers refuse the two together.
  if (typeof request.top_p === "number" && request.top_p !== 1) {
    if (rejects.includes("top_p") || (isThinking && request.top_p < LEAST_THINKING_TOP_P)) dropped.push("top_p");
    else fields.top_p = request.top_p;
  }
  // Some clients write "no limit" as -1 or 0.
  if (typeof request.top_k === "number" && request.top_k > 0) {
    if (rejects.includes("top_k") || isThinking) dropped.push("top_k");
    else fields.top_k = request.top_k;
  }
  const stop = (request.stop ?? []).filter((sequence) => sequence.trim() !== "");
  if (stop.length < (request.stop?.length ?? 0) || (stop.length > 0 && rejects.includes("stop"))) dropped.push("stop");
  if (stop.length > 0 && !rejects.includes("stop")) fields.stop_sequences = stop;
  return { fields, dropped };
}
