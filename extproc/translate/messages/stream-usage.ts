import type { JsonObject } from "../../protocol/json/object.ts";
import type { Meter } from "../../meter/meter.ts";
import { mergeUsage, messagesUsage, type MessagesUsageOptions } from "../../protocol/messages/usage.ts";

/** The usage of one messages stream on its way to the meter. */
export interface StreamUsage {
  /** `message_start.message.usage`. */
  start(usage: unknown): void;
  /** `message_delta.usage`: cumulative, and with only the fields that the server chooses to name. */
  update(usage: unknown): void;
}

const OUTPUT: ReadonlySet<string> = new Set(["output_tokens", "output_tokens_details", "iterations"]);

export function createStreamUsage(meter: Meter, options: MessagesUsageOptions): StreamUsage {
  let merged: JsonObject = {};

  return {
    start(usage) {
      // Output tokens at the start are a placeholder, which must not be used as the answer's count if nothing else is reported.
      merged = Object.fromEntries(Object.entries(mergeUsage(merged, usage)).filter(([name]) => !OUTPUT.has(name)));
      // No input at all means that the server does not know yet.
      const counts = messagesUsage(merged, options) ?? {};
      if (Object.values(counts).some((tokens) => tokens !== 0)) meter.report(counts);
    },
    update(usage) {
      merged = mergeUsage(merged, usage);
      const counts = messagesUsage(merged, options);
      if (counts !== undefined) meter.report(counts);
    },
  };
}
