import * as z from "zod";
import type { Rule } from "../../crd/explain.ts";
import type { Problem } from "../field-message.ts";
import { isOf } from "../input-interfaces.ts";

// Checks made both here and by the API server have the same messages.
const REQUIRED = "is required";
const SAME_KINDS =
  "must have inputPerMillion, searchPerThousand, charactersPerMillion, perMinute and, for Transcription, outputPerMillion in each entry if pricing has them, and only then";

/** Prices of something other than tokens, each for one interface alone. Those of images have rules of their own. */
const UNIT_PRICES = [
  {
    field: "searchPerThousand",
    interface: "Rerank",
    message: "must be absent, except for Rerank: other interfaces have no searches",
  },
  {
    field: "charactersPerMillion",
    interface: "Speech",
    message: "must be absent, except for Speech: other interfaces do not count characters",
  },
  {
    field: "perMinute",
    interface: "Transcription",
    message: "must be absent, except for Transcription: other interfaces have no minutes of audio",
  },
] as const;
const KINDS = ["inputPerMillion", ...UNIT_PRICES.map(({ field }) => field)] as const;

const anything = z.unknown().optional();
const inputPrices = z.object({
  inputPerMillion: anything,
  searchPerThousand: anything,
  charactersPerMillion: anything,
  perMinute: anything,
  outputPerMillion: anything,
});
type InputPrices = z.infer<typeof inputPrices>;

/** What the rules read of a Model's specification; other invalid fields are reported as well. */
const pricedSpec = z.object({
  interfaces: z.array(z.unknown()).default([]),
  pricing: inputPrices.extend({ schedule: z.array(inputPrices).default([]) }),
  cost: inputPrices.optional(),
});

/**
 * What a request sends is charged by its tokens; for Rerank also, or instead, by searches, for Speech by characters, for
 * Transcription by minutes.
 */
export function inputPriceProblems(spec: unknown): Problem[] {
  const parsed = pricedSpec.safeParse(spec);
  if (!parsed.success) return [];
  const { interfaces, pricing, cost } = parsed.data;
  const problems = [
    ...problemsOf("pricing", pricing, interfaces),
    ...(cost === undefined ? [] : problemsOf("cost", cost, interfaces)),
  ];
  const hasOutput = interfaces.includes("Transcription");
  if (!pricing.schedule.every((each) => hasSameKinds(each, pricing, hasOutput)))
    problems.push({ path: ["pricing", "schedule"], message: SAME_KINDS });
  return problems;
}

function problemsOf(section: string, prices: InputPrices, interfaces: readonly unknown[]): Problem[] {
  // Images need none of these.
  const isPriced = KINDS.some((each) => prices[each] !== undefined) || interfaces.includes("ImageGeneration");
  return [
    ...(isPriced ? [] : [{ path: [section, "inputPerMillion"], message: REQUIRED }]),
    ...UNIT_PRICES.filter((each) => prices[each.field] !== undefined && !interfaces.includes(each.interface)).map(
      ({ field, message }) => ({ path: [section, field], message }),
    ),
  ];
}

/** A scheduled price without one of them would make it free. */
function hasSameKinds(one: InputPrices, other: InputPrices, hasOutput: boolean): boolean {
  return [...KINDS, ...(hasOutput ? (["outputPerMillion"] as const) : [])].every(
    (kind) => (one[kind] === undefined) === (other[kind] === undefined),
  );
}

const hasInput = (prices: string) => [...KINDS.map((each) => `has(${prices}.${each})`), isOf("ImageGeneration")].join(" || ");
const sameKind = (name: string) => `has(each.${name}) == has(self.pricing.${name})`;
const SAME = [...KINDS.map(sameKind), `(!${isOf("Transcription")} || ${sameKind("outputPerMillion")})`].join(" && ");

/** The same for the API server. */
export const INPUT_PRICE_RULES: readonly Rule[] = [
  { rule: hasInput("self.pricing"), message: REQUIRED, field: "pricing.inputPerMillion" },
  { rule: `!has(self.cost) || ${hasInput("self.cost")}`, message: REQUIRED, field: "cost.inputPerMillion" },
  ...UNIT_PRICES.flatMap(({ field, interface: only, message }) => [
    { rule: `!has(self.pricing.${field}) || ${isOf(only)}`, message, field: `pricing.${field}` },
    { rule: `!has(self.cost) || !has(self.cost.${field}) || ${isOf(only)}`, message, field: `cost.${field}` },
  ]),
  {
    rule: `!has(self.pricing.schedule) || self.pricing.schedule.all(each, ${SAME})`,
    message: SAME_KINDS,
    field: "pricing.schedule",
  },
];
