import { NO_USAGE, type Usage } from "../../contract/usage.ts";

/** What is known at the end about what a request used. */
export interface MeteredUsage {
  usage: Usage;
  /** True where a number is our own count because the upstream gave none (S28). */
  isEstimated: boolean;
}

/**
 * Counts one response. Whatever carries a response to the client takes a Meter, so that no path can
 * forget to count.
 */
export interface Meter {
  /** The upstream's own numbers. They are cumulative: a later report overwrites, field by field, what it names. */
  report(usage: Partial<Usage>): void;
  /** Text that the upstream produced (answer, reasoning, tool arguments); kept as a length, in case no usage comes. */
  produced(text: string): void;
  /** The same, of text whose length in UTF-8 is known. */
  producedBytes(bytes: number): void;
  /** Has the upstream produced any text? Token counts alone do not say so: messages streams begin with a placeholder. */
  hasOutput(): boolean;
  final(): MeteredUsage;
}

/**
 * About four UTF-8 bytes of English text make a token; other scripts have fewer bytes a token, so this
 * errs by script, not by size. It serves only where an upstream reports nothing.
 */
const BYTES_PER_TOKEN = 4;

export function estimateTokens(bytes: number): number {
  return Math.ceil(bytes / BYTES_PER_TOKEN);
}

/** @param promptBytes size of the request body as received: the estimate of the prompt where none is reported. */
export function createMeter(promptBytes: number): Meter {
  let reported: Partial<Usage> = {};
  let producedBytes = 0;

  return {
    report(usage) {
      reported = { ...reported, ...usage };
    },
    produced(text) {
      producedBytes += Buffer.byteLength(text);
    },
    producedBytes(bytes) {
      producedBytes += bytes;
    },
    hasOutput: () => producedBytes > 0,
    final() {
      const usage: Usage = {
        ...NO_USAGE,
        ...reported,
        inputTokens: reported.inputTokens ?? estimateTokens(promptBytes),
        outputTokens: reported.outputTokens ?? estimateTokens(producedBytes),
      };
      return { usage, isEstimated: reported.inputTokens === undefined || reported.outputTokens === undefined };
    },
  };
}
