import * as z from "zod";
import type { Rule } from "../crd/explain.ts";
import { INPUT_INTERFACES } from "./backend-resource.ts";

// Checks made both here and by the API server have the same messages.
const REQUIRED = "is required";
const EACH_OUTPUT = "must have outputPerMillion in each entry";
const NO_CACHES =
  "must have no prices of caches for ImageGeneration and Transcription: nothing of a request is remembered for the next one";
const INPUT_ONLY = "must have no prices of caches and output for Embeddings, Rerank and Speech: their answers have no tokens";
const NO_OUTPUT_LIMIT = "must be absent for Embeddings, Rerank and Speech: their answers have no tokens";
const NO_CAPABILITIES =
  "must be absent for Embeddings, Rerank, ImageGeneration, Speech and Transcription: nothing else is asked of the Model";
const CHAT_ONLY =
  "must all have protocol ChatCompletions for Embeddings, Rerank, ImageGeneration, Speech and Transcription: Messages has none of them, and servers of Responses that have them take ChatCompletions";

const anything = z.unknown().optional();

/** What the rules read of a Model's specification; other invalid fields are reported as well. */
const pricedSpec = z.object({
  interfaces: z.array(z.unknown()).default([]),
  capabilities: anything,
  limits: z.object({ maxOutputTokens: anything }).default({}),
  pricing: z.object({ ...prices(), schedule: z.array(z.object(prices())).default([]) }),
  cost: z.object(prices()).optional(),
  backends: z.array(z.object({ protocol: anything })).default([]),
});
type Prices = z.infer<z.ZodObject<ReturnType<typeof prices>>>;

function prices() {
  return { cachedInputPerMillion: anything, cacheWritePerMillion: anything, outputPerMillion: anything };
}

/** Interfaces whose answers have tokens. */
const WITH_OUTPUT = ["ImageGeneration", "Transcription"] as const satisfies (typeof INPUT_INTERFACES)[number][];

interface Problem {
  path: string[];
  message: string;
}

/**
 * A Model of an input interface has no price but those of its input (input-price-rules.ts), and of images (image-price-rules.ts)
 * and transcriptions, whose answers may have one; every other one has an output price.
 */
export function inputOnlyProblems(spec: unknown): Problem[] {
  const parsed = pricedSpec.safeParse(spec);
  if (!parsed.success) return [];
  const { interfaces, capabilities, limits, pricing, cost, backends } = parsed.data;
  const hasOutput = WITH_OUTPUT.some((each) => interfaces.includes(each));
  const [allows, message] = hasOutput ? ([hasNoCaches, NO_CACHES] as const) : ([isInputOnly, INPUT_ONLY] as const);
  const checks: [isWrong: boolean, path: string[], message: string][] = interfaces.some(isInputInterfaceName)
    ? [
        [!allows(pricing), ["pricing"], message],
        [!pricing.schedule.every(allows), ["pricing", "schedule"], message],
        [cost !== undefined && !allows(cost), ["cost"], message],
        [!hasOutput && limits.maxOutputTokens !== undefined, ["limits", "maxOutputTokens"], NO_OUTPUT_LIMIT],
        [capabilities !== undefined, ["capabilities"], NO_CAPABILITIES],
        [backends.some(({ protocol }) => protocol !== "ChatCompletions"), ["backends"], CHAT_ONLY],
      ]
    : [
        [pricing.outputPerMillion === undefined, ["pricing", "outputPerMillion"], REQUIRED],
        [pricing.schedule.some(({ outputPerMillion }) => outputPerMillion === undefined), ["pricing", "schedule"], EACH_OUTPUT],
        [cost !== undefined && cost.outputPerMillion === undefined, ["cost", "outputPerMillion"], REQUIRED],
      ];
  return checks.flatMap(([isWrong, path, message]) => (isWrong ? [{ path, message }] : []));
}

export function isInputInterfaceName(name: unknown): boolean {
  return INPUT_INTERFACES.some((each) => each === name);
}

function isInputOnly(prices: Prices): boolean {
  return hasNoCaches(prices) && prices.outputPerMillion === undefined;
}

function hasNoCaches({ cachedInputPerMillion, cacheWritePerMillion }: Prices): boolean {
  return cachedInputPerMillion === undefined && cacheWritePerMillion === undefined;
}

const IS_INPUT = `has(self.interfaces) && ${anyOf("self.interfaces")}`;
const IS_INPUT_ONLY =
  'has(self.interfaces) && ("Embeddings" in self.interfaces || "Rerank" in self.interfaces || "Speech" in self.interfaces)';
const noCaches = (prices: string) => `!has(${prices}.cachedInputPerMillion) && !has(${prices}.cacheWritePerMillion)`;
const inputOnly = (prices: string) => `${noCaches(prices)} && !has(${prices}.outputPerMillion)`;
const ofInputOnly = (rule: string) => `!(${IS_INPUT_ONLY}) || ${rule}`;
const ofInput = (rule: string) => `!(${IS_INPUT}) || ${rule}`;
const OF_OUTPUT = WITH_OUTPUT.map((each) => `"${each}" in self.interfaces`).join(" || ");
const ofOutput = (rule: string) => `!(has(self.interfaces) && (${OF_OUTPUT})) || ${rule}`;
const ofOthers = (rule: string) => `(${IS_INPUT}) || ${rule}`;

/** The same for the API server. */
export const INPUT_ONLY_RULES: readonly Rule[] = [
  { rule: ofInputOnly(`(${inputOnly("self.pricing")})`), message: INPUT_ONLY, field: "pricing" },
  {
    rule: ofInputOnly(`!has(self.pricing.schedule) || self.pricing.schedule.all(each, ${inputOnly("each")})`),
    message: INPUT_ONLY,
    field: "pricing.schedule",
  },
  { rule: ofInputOnly(`!has(self.cost) || (${inputOnly("self.cost")})`), message: INPUT_ONLY, field: "cost" },
  { rule: ofOutput(`(${noCaches("self.pricing")})`), message: NO_CACHES, field: "pricing" },
  {
    rule: ofOutput(`!has(self.pricing.schedule) || self.pricing.schedule.all(each, ${noCaches("each")})`),
    message: NO_CACHES,
    field: "pricing.schedule",
  },
  { rule: ofOutput(`!has(self.cost) || (${noCaches("self.cost")})`), message: NO_CACHES, field: "cost" },
  {
    rule: ofInputOnly("!has(self.limits) || !has(self.limits.maxOutputTokens)"),
    message: NO_OUTPUT_LIMIT,
    field: "limits.maxOutputTokens",
  },
  { rule: ofInput("!has(self.capabilities)"), message: NO_CAPABILITIES, field: "capabilities" },
  {
    rule: ofInput('self.backends.all(each, each.protocol == "ChatCompletions")'),
    message: CHAT_ONLY,
    field: "backends",
  },
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

/** Whether a list names one of them, as an expression for the API server. */
export function anyOf(names: string): string {
  return `(${INPUT_INTERFACES.map((each) => `"${each}" in ${names}`).join(" || ")})`;
}
