import type { ImageTraits } from "../../contract/units.ts";
import type { UnitPrice } from "../../ledger/settlement/settlement.ts";
import { NO_USAGE, promptTokensOf, type Usage } from "../../contract/usage.ts";
import { countedPart, isCount } from "../protocol/json/count.ts";
import { countCharacters } from "./characters.ts";

/** The known usage of a request. */
export interface MeteredUsage {
  usage: Usage;
  /** True if a number is our own count because the upstream gave no possible one (S28, S38). */
  isEstimated: boolean;
  /** Of units whose price depends on what they are. */
  unitPrice?: UnitPrice;
}

/**
 * Why an upstream's report was not charged as it stands:
 * - "impossible": no count of tokens or units, more than the model or the request can have, or parts that exceed their total;
 * - "over_limit": more output than the limit that was sent allows, or more sound than the hold covers;
 * - "empty": a prompt of no tokens, or no units although they are charged;
 * - "falling": a prompt, or cumulative output, that becomes less;
 * - "short": fewer output tokens than the delivered text can have;
 * - "stale": the answer went on behind the last report.
 */
const ANOMALIES = ["impossible", "over_limit", "empty", "falling", "short", "stale"] as const;
export type Anomaly = (typeof ANOMALIES)[number];

/**
 * Counts one response. Everything that carries a response to the client takes a Meter, so that no path can forget to count. The
 * content of an event or an answer is counted before its usage is reported.
 */
export interface Meter {
  /**
   * The upstream's own numbers, unchecked. They are cumulative: a later report of the prompt or of the output replaces an earlier
   * one. `inputTokens`, `cachedInputTokens` and `cacheWriteTokens` belong together. A part that is NaN is unknown, and counts as none
   * beside a valid total.
   */
  report(usage: Partial<Usage> & { made?: ImageTraits | undefined }): void;
  /** Units that can be seen in the answer of a server that reports none; there may be more. */
  showsUnits(shown: number): void;
  /** Text produced by the upstream (answer, reasoning, tool arguments). Only its size is kept. */
  produced(text: string): void;
  /** The same for measured text: bytes of UTF-8, and characters as `countCharacters` counts them. */
  producedBytes(bytes: number, characters: number): void;
  /** Whether the upstream has produced output. Token counts alone do not show it: messages streams begin with a placeholder. */
  outputBytes(): number;
  /** The number of `report` calls. Between two of them, `outputBytes` alone changes the count, as `estimateTokens` says. */
  reports(): number;
  /** The server ended its answer for an unknown reason: it may be cut, and the client gets an ordinary end. */
  noteUnknownReason(reason: string): void;
  /** The last recorded one, truncated for logs. */
  unknownReason(): string | null;
  final(): MeteredUsage;
  /** The faults of the reports so far. */
  anomalies(): readonly Anomaly[];
}

/**
 * About four UTF-8 bytes of English text are one token; other scripts have fewer bytes per token, so this errs by script, not by
 * size. It is used only if an upstream reports nothing, or nothing possible.
 */
const BYTES_PER_TOKEN = 4;

/**
 * The maximum characters per token of text, counting a run of one character once. Every token of o200k_base has fewer (26 at
 * most), and all but four of cl100k_base's 100,000, which are names in user interface libraries.
 */
const MAX_CHARACTERS_PER_TOKEN = 32;

/** A server may write anything there; known reasons have at most 30 characters. */
const MAX_REASON_LENGTH = 64;

/** A prompt counts as falling below this part of the earlier report, and of our own count. */
const MIN_PROMPT_PART = 1 / 4;

/** For a Model without limits: the largest common context window, and a long answer. */
export const MAX_TOKENS = 2_000_000;

export function estimateTokens(bytes: number): number {
  return Math.ceil(bytes / BYTES_PER_TOKEN);
}

/** The output that certainly adds no more tokens than these to any estimate. */
export function bytesWithin(tokens: number): number {
  return Math.max(0, tokens - 1) * BYTES_PER_TOKEN;
}

/** The prompt's classes, at least one of which the upstream reported. */
interface ReportedPrompt {
  inputTokens: number | undefined;
  cachedInputTokens: number;
  cacheWriteTokens: number;
  hasUnknownPart: boolean;
}

interface ReportedOutput {
  outputTokens: number;
  reasoningTokens: number;
  hasUnknownPart: boolean;
  /** The reasoning is not more than the output. */
  isConsistent: boolean;
  /** The output produced when it was reported. */
  atBytes: number;
  atCharacters: number;
}

/** The maximum of a report. */
export interface MeterBounds {
  /** Prompt and output together: the model's context. */
  tokens?: number;
  /** The prompt alone; absent if it may fill the context. */
  promptTokens?: number;
  /** Output of all answers: the limit that was sent, for each of them. */
  outputTokens?: number;
  /** Of an interface that has units (contract/units.ts). */
  units?: UnitBounds;
  /** Only units are charged: it does not matter if tokens are reported. */
  isTokenFree?: boolean;
  /** Output tokens of each unit by our own count, if none are reported; 0 if they are not charged. */
  eachTokens?: number;
}

interface UnitBounds {
  /** Our own count, charged if none is reported; 0 if units are not charged. */
  likely: number;
  max: number;
  /** A report of more is charged up to `max`; otherwise our own count is. */
  isCapped?: boolean;
  /** Our own count is no guess: it counts if the answer shows fewer. */
  isMeasured?: boolean;
  /** The highest price that is possible by what is known of the units. */
  priceOf?: ((made: ImageTraits) => UnitPrice) | undefined;
}

/** @param promptTokens our own count of the prompt, charged if none is reported. */
export function createMeter(promptTokens: number, bounds: MeterBounds = {}): Meter {
  const {
    tokens: maxTokens = MAX_TOKENS,
    promptTokens: maxPromptTokens = maxTokens,
    outputTokens: maxOutputTokens = Infinity,
    units: unitBounds,
    isTokenFree = false,
    eachTokens,
  } = bounds;
  const likelyUnits = unitBounds?.likely ?? 0;
  const ownPrompt = Math.min(Math.max(0, Math.ceil(promptTokens)), maxTokens);
  const anomalies = new Set<Anomaly>();
  let prompt: ReportedPrompt | undefined;
  let output: ReportedOutput | undefined;
  let units: number | undefined;
  let made: ImageTraits = { size: null, quality: null };
  let highestPrompt = 0;
  let highestOutput = 0;
  let bytes = 0;
  let characters = 0;
  let reports = 0;
  let unknownReason: string | null = null;

  function reportPrompt({ inputTokens, cachedInputTokens: cached = 0, cacheWriteTokens: written = 0 }: Partial<Usage>): void {
    const hasUnknownPart = inputTokens !== undefined && (Number.isNaN(cached) || Number.isNaN(written));
    const [cachedInputTokens, cacheWriteTokens] = hasUnknownPart
      ? [countedPart(cached), countedPart(written)]
      : [cached, written];
    const sum = (inputTokens ?? 0) + cachedInputTokens + cacheWriteTokens;
    const isPossible = [inputTokens ?? 0, cachedInputTokens, cacheWriteTokens].every(isCount) && sum <= maxPromptTokens;
    if (!isPossible || hasUnknownPart) anomalies.add("impossible");
    if (!isPossible) return;
    if (sum === 0) {
      if (!isTokenFree) anomalies.add("empty");
      return;
    }
    highestPrompt = Math.max(highestPrompt, sum);
    prompt = { inputTokens, cachedInputTokens, cacheWriteTokens, hasUnknownPart };
  }

  function reportOutput(outputTokens: number, reasoningTokens = 0): void {
    if (!isCount(outputTokens) || promptTokensOf(promptUsage()) + outputTokens > maxTokens) {
      anomalies.add("impossible");
      return;
    }
    highestOutput = Math.max(highestOutput, outputTokens);
    const hasUnknownPart = Number.isNaN(reasoningTokens);
    const isConsistent = hasUnknownPart || (isCount(reasoningTokens) && reasoningTokens <= outputTokens);
    output = {
      outputTokens,
      reasoningTokens: isConsistent ? countedPart(reasoningTokens) : 0,
      hasUnknownPart,
      isConsistent,
      atBytes: bytes,
      atCharacters: characters,
    };
  }

  function reportUnits(reported: number): void {
    if (unitBounds === undefined) return;
    if (isCount(reported) && reported > unitBounds.max && unitBounds.isCapped === true) {
      anomalies.add("over_limit");
      units = unitBounds.max;
    } else if (!isCount(reported) || reported > unitBounds.max) anomalies.add("impossible");
    // Servers that bill by tokens write zero.
    else if (reported > 0) units = reported;
    else if (likelyUnits > 0) anomalies.add("empty");
  }

  /** None that are neither reported nor charged. */
  function unitUsage(): Pick<Usage, "units"> {
    const counted = units ?? likelyUnits;
    return counted === 0 ? {} : { units: counted };
  }

  function isTokensEstimated(): boolean {
    if (isTokenFree) return false;
    const isOutputOwn = output === undefined ? eachTokens !== 0 : outputAnomalies(output).length > 0;
    return prompt?.inputTokens === undefined || prompt.hasUnknownPart || isPromptFalling(prompt) || isOutputOwn;
  }

  function isUnitsEstimated(): boolean {
    return units === undefined && likelyUnits > 0;
  }

  function promptUsage(): Pick<Usage, "inputTokens" | "cachedInputTokens" | "cacheWriteTokens"> {
    if (prompt === undefined) return { inputTokens: ownPrompt, cachedInputTokens: 0, cacheWriteTokens: 0 };
    const { cachedInputTokens, cacheWriteTokens } = prompt;
    const isFalling = isPromptFalling(prompt);
    if (prompt.inputTokens !== undefined && !isFalling)
      return { inputTokens: prompt.inputTokens, cachedInputTokens, cacheWriteTokens };
    const own = isFalling ? Math.min(ownPrompt, highestPrompt) : ownPrompt;
    const rest = own - cachedInputTokens - cacheWriteTokens;
    return { inputTokens: Math.max(prompt.inputTokens ?? 0, rest), cachedInputTokens, cacheWriteTokens };
  }

  /** A server may first estimate and later know: only extremely low counts are anomalies. */
  function isPromptFalling({ inputTokens, cachedInputTokens, cacheWriteTokens }: ReportedPrompt): boolean {
    if (inputTokens === undefined) return false;
    const sum = inputTokens + cachedInputTokens + cacheWriteTokens;
    return sum < MIN_PROMPT_PART * Math.min(highestPrompt, ownPrompt);
  }

  function outputTokens(): number {
    const own = estimateTokens(bytes);
    if (output === undefined) return Math.min(own + (eachTokens ?? 0) * (units ?? 0), maxTokens);
    const isReplaced = isFalling(output) || isShort(output) || !output.isConsistent;
    // More than the limit was not requested; output delivered beyond it is still charged.
    const believed = Math.min(output.outputTokens, Math.max(maxOutputTokens, estimateTokens(output.atBytes)));
    const estimate = believed + estimateTokens(bytes - output.atBytes);
    return Math.min(isReplaced ? Math.max(estimate, own) : estimate, maxTokens);
  }

  /** It is unknown which of the reports is true. */
  function isFalling(last: ReportedOutput): boolean {
    return last.outputTokens < highestOutput;
  }

  function isShort(last: ReportedOutput): boolean {
    return last.outputTokens < Math.ceil(last.atCharacters / MAX_CHARACTERS_PER_TOKEN);
  }

  function isOverLimit(last: ReportedOutput): boolean {
    return last.outputTokens > maxOutputTokens;
  }

  function isStale(last: ReportedOutput): boolean {
    return bytes > last.atBytes;
  }

  function outputAnomalies(last: ReportedOutput): Anomaly[] {
    const found: Anomaly[] = [];
    if (!last.isConsistent || last.hasUnknownPart) found.push("impossible");
    if (isOverLimit(last)) found.push("over_limit");
    if (isFalling(last)) found.push("falling");
    if (isShort(last)) found.push("short");
    if (isStale(last)) found.push("stale");
    return found;
  }

  return {
    report(usage) {
      reports += 1;
      const { inputTokens, cachedInputTokens, cacheWriteTokens, reasoningTokens } = usage;
      if ((inputTokens ?? cachedInputTokens ?? cacheWriteTokens) !== undefined) reportPrompt(usage);
      if (usage.outputTokens !== undefined) reportOutput(usage.outputTokens, reasoningTokens);
      if (usage.units !== undefined) reportUnits(usage.units);
      made = usage.made ?? made;
    },
    showsUnits(shown) {
      reports += 1;
      reportUnits(unitBounds?.isMeasured === true ? Math.max(shown, likelyUnits) : shown);
    },
    produced(text) {
      bytes += Buffer.byteLength(text);
      characters += countCharacters(text);
    },
    producedBytes(moreBytes, moreCharacters) {
      bytes += moreBytes;
      characters += moreCharacters;
    },
    outputBytes: () => bytes,
    reports: () => reports,
    noteUnknownReason(reason) {
      unknownReason = reason.slice(0, MAX_REASON_LENGTH).toWellFormed();
    },
    unknownReason: () => unknownReason,
    final() {
      const total = outputTokens();
      return {
        usage: {
          ...NO_USAGE,
          ...promptUsage(),
          outputTokens: total,
          reasoningTokens: Math.min(output?.reasoningTokens ?? 0, total),
          ...unitUsage(),
        },
        isEstimated: isTokensEstimated() || isUnitsEstimated(),
        ...(unitBounds?.priceOf && { unitPrice: unitBounds.priceOf(made) }),
      };
    },
    anomalies() {
      const found = new Set(anomalies);
      // A prompt reported later is no longer an anomaly.
      if (prompt !== undefined) found.delete("empty");
      if (prompt !== undefined && isPromptFalling(prompt)) found.add("falling");
      if (output !== undefined) for (const anomaly of outputAnomalies(output)) found.add(anomaly);
      return ANOMALIES.filter((anomaly) => found.has(anomaly));
    },
  };
}
