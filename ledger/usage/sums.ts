import * as z from "zod";
import { keysOfProject } from "../projects/project-keys.ts";

/** Total usage and cost of requests. Tokens are given by class, as they are charged. */
export interface UsageSums {
  requests: number;
  inputTokens: number;
  cachedInputTokens: number;
  cacheWriteTokens: number;
  outputTokens: number;
  /** A part of outputTokens. */
  reasoningTokens: number;
  /** Units of rerank (contract/units.ts). */
  searches: number;
  /** Units of image generation. */
  images: number;
  /** Units of speech. */
  characters: number;
  /** Units of transcription. */
  seconds: number;
  chargeNanoUsd: bigint;
}

export const NO_USAGE_SUMS: UsageSums = {
  requests: 0,
  inputTokens: 0,
  cachedInputTokens: 0,
  cacheWriteTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
  searches: 0,
  images: 0,
  characters: 0,
  seconds: 0,
  chargeNanoUsd: 0n,
};

export function addUsage(a: UsageSums, b: UsageSums): UsageSums {
  return {
    requests: a.requests + b.requests,
    inputTokens: a.inputTokens + b.inputTokens,
    cachedInputTokens: a.cachedInputTokens + b.cachedInputTokens,
    cacheWriteTokens: a.cacheWriteTokens + b.cacheWriteTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    reasoningTokens: a.reasoningTokens + b.reasoningTokens,
    searches: a.searches + b.searches,
    images: a.images + b.images,
    characters: a.characters + b.characters,
    seconds: a.seconds + b.seconds,
    chargeNanoUsd: a.chargeNanoUsd + b.chargeNanoUsd,
  };
}

export function subtractUsage(a: UsageSums, b: UsageSums): UsageSums {
  return {
    requests: a.requests - b.requests,
    inputTokens: a.inputTokens - b.inputTokens,
    cachedInputTokens: a.cachedInputTokens - b.cachedInputTokens,
    cacheWriteTokens: a.cacheWriteTokens - b.cacheWriteTokens,
    outputTokens: a.outputTokens - b.outputTokens,
    reasoningTokens: a.reasoningTokens - b.reasoningTokens,
    searches: a.searches - b.searches,
    images: a.images - b.images,
    characters: a.characters - b.characters,
    seconds: a.seconds - b.seconds,
    chargeNanoUsd: a.chargeNanoUsd - b.chargeNanoUsd,
  };
}

/** Token sums stay far below 2^53, and are shown as JSON numbers; money stays bigint. */
export const wholeNumber = z.bigint().transform(Number);

/** Part of a row schema. */
export const usageSumsShape = {
  requests: wholeNumber,
  inputTokens: wholeNumber,
  cachedInputTokens: wholeNumber,
  cacheWriteTokens: wholeNumber,
  outputTokens: wholeNumber,
  reasoningTokens: wholeNumber,
  searches: wholeNumber,
  images: wholeNumber,
  characters: wholeNumber,
  seconds: wholeNumber,
  chargeNanoUsd: z.bigint(),
} as const;

/** Columns of the rollups that add up. A row of usage counts as one request. */
export const SUMMED_COLUMNS = [
  "requests",
  "input_tokens",
  "cached_input_tokens",
  "cache_write_tokens",
  "output_tokens",
  "reasoning_tokens",
  "searches",
  "images",
  "characters",
  "seconds",
  "charge_nano_usd",
] as const;

/** Part of a SELECT from usage_event: its units, which the rollups have by kind. */
export const UNITS_BY_KIND = `CASE WHEN interface = 'rerank' THEN units ELSE 0 END AS searches,
  CASE WHEN interface = 'image_generation' THEN units ELSE 0 END AS images,
  CASE WHEN interface = 'speech' THEN units ELSE 0 END AS characters,
  CASE WHEN interface = 'transcription' THEN units ELSE 0 END AS seconds`;

/** Part of a SELECT that groups rows under the same names, for a step before `USAGE_SUMS`. */
export const SUMMED = SUMMED_COLUMNS.map((each) => `sum(${each}) AS ${each}`).join(", ");

/** Part of a SELECT over a rollup that groups its rows. */
export const USAGE_SUMS = `sum(requests)::bigint AS requests, sum(input_tokens)::bigint AS "inputTokens",
  sum(cached_input_tokens)::bigint AS "cachedInputTokens", sum(cache_write_tokens)::bigint AS "cacheWriteTokens",
  sum(output_tokens)::bigint AS "outputTokens", sum(reasoning_tokens)::bigint AS "reasoningTokens",
  sum(searches)::bigint AS searches, sum(images)::bigint AS images, sum(characters)::bigint AS characters,
  sum(seconds)::bigint AS seconds, sum(charge_nano_usd)::bigint AS "chargeNanoUsd"`;

/** The usage of an account, of one of its projects, or of one API key. */
export type UsageSubject = { accountId: string; keyId?: string | undefined; projectId?: string | undefined } | { keyId: string };

/**
 * A condition on a rollup and its values.
 * @param position of its first parameter in the statement.
 */
export function usageOf(subject: UsageSubject, position: number): { condition: string; values: string[] } {
  if (!("accountId" in subject)) return { condition: `key_id = $${position}`, values: [subject.keyId] };
  const { accountId, keyId, projectId } = subject;
  const conditions = [`usage.account_id = $${position}`];
  const values = [accountId];
  if (keyId !== undefined) conditions.push(`key_id = $${position + values.push(keyId) - 1}`);
  if (projectId !== undefined) conditions.push(`key_id IN (${keysOfProject(position + values.push(projectId) - 1)})`);
  return { condition: conditions.join(" AND "), values };
}
