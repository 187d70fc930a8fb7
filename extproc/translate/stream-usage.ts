import type { Meter } from "../meter/meter.ts";
import { mergeUsage, messagesUsage, type MessagesUsageOptions } from "../protocol/messages/usage.ts";
import type { JsonObject } from "./translation.ts";

/** The usage of one messages stream on its way to the meter. */
export interface StreamUsage {
  /** `message_start.message.usage`. */
  start(usage: unknown): void;
  /** `message_delta.usage`: cumulative, and with only the fields that the server cares to name. */
  update(usage: unknown): void;
}

export function createStreamUsage(meter: Meter, options: MessagesUsageOptions): StreamUsage {
  let merged: JsonObject = {};

  return {
    start(usage) {
      merged = mergeUsage(merged, usage);
      // Output tokens at the start are a placeholder; no input at all means that the server does not know yet.
      const { outputTokens: _, reasoningTokens: __, ...input } = messagesUsage(merged, options) ?? {};
      const sum = (input.inputTokens ?? 0) + (input.cachedInputTokens ?? 0) + (input.cacheWriteTokens ?? 0);
      if (sum > 0) meter.report(input);
    },
    update(usage) {
      merged = mergeUsage(merged, usage);
      const counts = messagesUsage(merged, options);
      if (counts !== undefined) meter.report(counts);
    },
  };
}
