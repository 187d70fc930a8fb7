import * as z from "zod";
import type { Rule } from "../../crd/explain.ts";
import type { Problem } from "../field-message.ts";
import { isInputInterfaceName, isOf, ofInput, ofOthers } from "../input-interfaces.ts";

// Checks made both here and by the API server have the same messages.
const OUTPUT_REQUIRED = "must have outputPerMillion beside inputPerMillion";
const INPUT_ALONE = "must have no prices of caches and output for Embeddings: their answers have no tokens";
const NO_BATCHES =
  "must be false for Rerank, ImageGeneration, Speech and Transcription: batches support conversations and embeddings only";

const anything = z.unknown().optional();

/** What the rules read of a Model's specification; other invalid fields are reported as well. */
const batchSpec = z.object({
  interfaces: z.array(z.unknown()).default([]),
  batch: z.object({ enabled: anything }).optional(),
  pricing: z.object({
    batch: z
      .object({
        inputPerMillion: anything,
        cachedInputPerMillion: anything,
        cacheWritePerMillion: anything,
        outputPerMillion: anything,
      })
      .optional(),
  }),
});

/** Which Models take batches, and the prices that they then have. */
export function batchPriceProblems(spec: unknown): Problem[] {
  const parsed = batchSpec.safeParse(spec);
  if (!parsed.success) return [];
  const { interfaces, batch, pricing } = parsed.data;
  const problems: Problem[] = [];
  const isInput = interfaces.some(isInputInterfaceName);
  if (isInput && !interfaces.includes("Embeddings") && batch?.enabled === true)
    problems.push({ path: ["batch", "enabled"], message: NO_BATCHES });
  const prices = pricing.batch;
  if (prices?.inputPerMillion === undefined) return problems;
  const { cachedInputPerMillion, cacheWritePerMillion, outputPerMillion } = prices;
  const hasMore = [cachedInputPerMillion, cacheWritePerMillion, outputPerMillion].some((each) => each !== undefined);
  if (isInput && hasMore) problems.push({ path: ["pricing", "batch"], message: INPUT_ALONE });
  if (!isInput && outputPerMillion === undefined) problems.push({ path: ["pricing", "batch"], message: OUTPUT_REQUIRED });
  return problems;
}

const PRICE = "self.pricing.batch";

/** The same for the API server. */
export const BATCH_PRICE_RULES: readonly Rule[] = [
  {
    rule: ofInput(`${isOf("Embeddings")} || !has(self.batch) || !has(self.batch.enabled) || !self.batch.enabled`),
    message: NO_BATCHES,
    field: "batch.enabled",
  },
  {
    rule: ofInput(
      `!has(${PRICE}) || !(has(${PRICE}.cachedInputPerMillion) || has(${PRICE}.cacheWritePerMillion) || has(${PRICE}.outputPerMillion))`,
    ),
    message: INPUT_ALONE,
    field: "pricing.batch",
  },
  {
    rule: ofOthers(`!has(${PRICE}) || !has(${PRICE}.inputPerMillion) || has(${PRICE}.outputPerMillion)`),
    message: OUTPUT_REQUIRED,
    field: "pricing.batch",
  },
];
