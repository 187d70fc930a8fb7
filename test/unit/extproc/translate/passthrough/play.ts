import type { Protocol } from "../../../../../contract/protocol.ts";
import { createMeter, type MeteredUsage } from "../../../../../extproc/meter/meter.ts";
import { createTranslation } from "../../../../../extproc/translate/choose.ts";
import type { StreamOutcome } from "../../../../../extproc/translate/translation.ts";
import { inputFor, type InputOptions } from "../input.ts";

export const CHAT = { model: "m", messages: [{ role: "user", content: "hi" }], stream: true };
export const WITH_USAGE = { ...CHAT, stream_options: { include_usage: true } };
export const WITH_USAGE_PER_CHUNK = { ...CHAT, stream_options: { include_usage: true, continuous_usage_stats: true } };

export const LAST = { choices: [{ index: 0, delta: {}, finish_reason: "stop" }] };
/** The chunk that ends an answer. */
export const FINISH = chunk({}, LAST);
export const DONE = "data: [DONE]\n\n";

interface Run {
  text: string;
  outcome: StreamOutcome;
  /** Chunks that passed without a copy. */
  unchanged: number;
  metered: MeteredUsage;
}

/** A stream that passes as it is. */
export function play(request: object, chunks: readonly Buffer[], options: Partial<InputOptions> & { protocol: Protocol }): Run {
  const input = inputFor(request, { upstreamModel: "m", ...options, upstream: options.protocol });
  const meter = createMeter(10);
  const stream = createTranslation(options.protocol, input).stream(meter);
  const output = chunks.map((chunk) => ({ chunk, pushed: stream.push(chunk) }));
  const text = Buffer.concat([...output.map(({ chunk, pushed }) => (pushed === "unchanged" ? chunk : pushed)), stream.end()]);
  const unchanged = output.filter(({ pushed }) => pushed === "unchanged").length;
  return { text: text.toString(), outcome: stream.outcome(), unchanged, metered: meter.final() };
}

/** An event of a chat stream. */
export function chunk(delta: object, more: object = {}): string {
  return `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, model: "m", choices: [{ index: 0, delta: { role: "assistant", ...delta }, finish_reason: null }], ...more })}\n\n`;
}
