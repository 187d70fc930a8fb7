import type { Profile } from "../../../contract/profile.ts";
import type { Omitted } from "../conversation/conversation.ts";
import type { Wishes } from "../conversation/wish.ts";

export interface SamplingFacts {
  rejects: Profile["rejects"];
  /** While thinking, messages allows temperature 1, no top_k, and top_p from 0.95. */
  isThinking: boolean;
}

interface SamplingFields {
  temperature?: number;
  top_p?: number;
  top_k?: number;
  stop_sequences?: string[];
}

const MAX_TEMPERATURE = 1;
const MIN_THINKING_TOP_P = 0.95;

/** Sampling and stop sequences within the limits of messages, this server and thinking. */
export function writeSampling(
  wishes: Pick<Wishes, "temperature" | "topP" | "topK" | "stop">,
  { rejects, isThinking }: SamplingFacts,
  { wishes: omitted }: Omitted,
): SamplingFields {
  const fields: SamplingFields = {};
  const temperature = wishes.temperature === null ? null : Math.min(wishes.temperature, MAX_TEMPERATURE);
  if (temperature !== null) {
    if (rejects.includes("temperature") || (isThinking && temperature !== 1)) omitted.add("temperature");
    else fields.temperature = temperature;
  }
  // 1 is the default of both protocols, and some servers reject the two together.
  if (wishes.topP !== null && wishes.topP !== 1) {
    if (rejects.includes("top_p") || (isThinking && wishes.topP < MIN_THINKING_TOP_P)) omitted.add("top_p");
    else fields.top_p = wishes.topP;
  }
  // Some clients write "no limit" as -1 or 0.
  if (wishes.topK !== null && wishes.topK > 0) {
    if (rejects.includes("top_k") || isThinking) omitted.add("top_k");
    else fields.top_k = wishes.topK;
  }
  const { sequences, field } = wishes.stop;
  const stop = sequences.filter((sequence) => sequence.trim() !== "");
  if (stop.length < sequences.length || (stop.length > 0 && rejects.includes("stop"))) omitted.add(field);
  if (stop.length > 0 && !rejects.includes("stop")) fields.stop_sequences = stop;
  return fields;
}
