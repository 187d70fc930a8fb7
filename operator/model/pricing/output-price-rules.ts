import * as z from "zod";
import type { Rule } from "../../crd/explain.ts";
import type { Problem } from "../field-message.ts";
import { hasOutput, isInputInterfaceName, ofInputOnly, ofOthers, ofOutput } from "../input-interfaces.ts";

// Checks made both here and by the API server have the same messages.
const REQUIRED = "is required";
const EACH_OUTPUT = "must have outputPerMillion in each entry";
const NO_CACHES =
  "must have no prices of caches for ImageGeneration and Transcription: nothing of a request is remembered for the next one";
const INPUT_ONLY = "must have no prices of caches and output for Embeddings, Rerank and Speech: their answers have no tokens";

const anything = z.unknown().optional();
const outputPrices = z.object({ cachedInputPerMillion: anything, cacheWritePerMillion: anything, outputPerMillion: anything });
type OutputPrices = z.infer<typeof outputPrices>;

/** What the rules read of a Model's specification; other invalid fields are reported as well. */
const pricedSpec = z.object({
  interfaces: z.array(z.unknown()).default([]),
  pricing: outputPrices.extend({ schedule: z.array(outputPrices).default([]) }),
  cost: outputPrices.optional(),
});

/**
 * A Model of an input interface has no prices of caches, and one of output only if its answers have tokens; every other Model has
 * an output price.
 */
export function outputPriceProblems(spec: unknown): Problem[] {
  const parsed = pricedSpec.safeParse(spec);
  if (!parsed.success) return [];
  const { interfaces, pricing, cost } = parsed.data;
  const [allows, message] = hasOutput(interfaces) ? ([hasNoCaches, NO_CACHES] as const) : ([isInputOnly, INPUT_ONLY] as const);
  const checks: [isWrong: boolean, path: string[], message: string][] = interfaces.some(isInputInterfaceName)
    ? [
        [!allows(pricing), ["pricing"], message],
        [!pricing.schedule.every(allows), ["pricing", "schedule"], message],
        [cost !== undefined && !allows(cost), ["cost"], message],
      ]
    : [
        [pricing.outputPerMillion === undefined, ["pricing", "outputPerMillion"], REQUIRED],
        [pricing.schedule.some(({ outputPerMillion }) => outputPerMillion === undefined), ["pricing", "schedule"], EACH_OUTPUT],
        [cost !== undefined && cost.outputPerMillion === undefined, ["cost", "outputPerMillion"], REQUIRED],
      ];
  return checks.flatMap(([isWrong, path, message]) => (isWrong ? [{ path, message }] : []));
}

function isInputOnly(prices: OutputPrices): boolean {
  return hasNoCaches(prices) && prices.outputPerMillion === undefined;
}

function hasNoCaches({ cachedInputPerMillion, cacheWritePerMillion }: OutputPrices): boolean {
  return cachedInputPerMillion === undefined && cacheWritePerMillion === undefined;
}

const noCaches = (prices: string) => `!has(${prices}.cachedInputPerMillion) && !has(${prices}.cacheWritePerMillion)`;
const inputOnly = (prices: string) => `${noCaches(prices)} && !has(${prices}.outputPerMillion)`;

/** The same for the API server. */
export const OUTPUT_PRICE_RULES: readonly Rule[] = [
  ...everywhere(ofInputOnly, inputOnly, INPUT_ONLY),
  ...everywhere(ofOutput, noCaches, NO_CACHES),
  { rule: ofOthers("has(self.pricing.outputPerMillion)"), message: REQUIRED, field: "pricing.outputPerMillion" },
  {
    rule: ofOthers("!has(self.pricing.schedule) || self.pricing.schedule.all(each, has(each.outputPerMillion))"),
    message: EACH_OUTPUT,
    field: "pricing.schedule",
  },
  {
    rule: ofOthers("!has(self.cost) || has(self.cost.outputPerMillion)"),
    message: REQUIRED,
    field: "cost.outputPerMillion",
  },
];

function everywhere(of: (rule: string) => string, claim: (prices: string) => string, message: string): readonly Rule[] {
  return [
    { rule: of(`(${claim("self.pricing")})`), message, field: "pricing" },
    {
      rule: of(`!has(self.pricing.schedule) || self.pricing.schedule.all(each, ${claim("each")})`),
      message,
      field: "pricing.schedule",
    },
    { rule: of(`!has(self.cost) || (${claim("self.cost")})`), message, field: "cost" },
  ];
}
