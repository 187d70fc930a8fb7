import * as z from "zod";
import type { Rule } from "../crd/explain.ts";

// Checks made both here and by the API server have the same messages.
const REQUIRED = "is required";
const RERANK_ALONE = "must be absent, except for Rerank: other interfaces have no searches";
const SPEECH_ALONE = "must be absent, except for Speech: other interfaces do not count characters";
const SAME_KINDS =
  "must have inputPerMillion, searchPerThousand and charactersPerMillion in each entry if pricing has them, and only then";

const anything = z.unknown().optional();
const inputPrices = z.object({ inputPerMillion: anything, searchPerThousand: anything, charactersPerMillion: anything });
type InputPrices = z.infer<typeof inputPrices>;

/** What the rules read of a Model's specification; other invalid fields are reported as well. */
const pricedSpec = z.object({
  interfaces: z.array(z.unknown()).default([]),
  pricing: inputPrices.extend({ schedule: z.array(inputPrices).default([]) }),
  cost: inputPrices.optional(),
});

interface Problem {
  path: string[];
  message: string;
}

/** What a request sends is charged by its tokens; for Rerank also, or instead, by searches, and for Speech by characters. */
export function inputPriceProblems(spec: unknown): Problem[] {
  const parsed = pricedSpec.safeParse(spec);
  if (!parsed.success) return [];
  const { interfaces, pricing, cost } = parsed.data;
  const problems = [
    ...problemsOf("pricing", pricing, interfaces),
    ...(cost === undefined ? [] : problemsOf("cost", cost, interfaces)),
  ];
  if (!pricing.schedule.every((each) => hasSameKinds(each, pricing)))
    problems.push({ path: ["pricing", "schedule"], message: SAME_KINDS });
  return problems;
}

function problemsOf(
  field: string,
  { inputPerMillion, searchPerThousand, charactersPerMillion }: InputPrices,
  interfaces: readonly unknown[],
): Problem[] {
  const hasSearchPrice = searchPerThousand !== undefined;
  const hasCharacterPrice = charactersPerMillion !== undefined;
  // Those of images need none (image-price-rules.ts).
  const isPriced = inputPerMillion !== undefined || hasSearchPrice || hasCharacterPrice || interfaces.includes("ImageGeneration");
  return [
    ...(!isPriced ? [{ path: [field, "inputPerMillion"], message: REQUIRED }] : []),
    ...(hasSearchPrice && !interfaces.includes("Rerank") ? [{ path: [field, "searchPerThousand"], message: RERANK_ALONE }] : []),
    ...(hasCharacterPrice && !interfaces.includes("Speech")
      ? [{ path: [field, "charactersPerMillion"], message: SPEECH_ALONE }]
      : []),
  ];
}

/** A scheduled price without one of them would make it free. */
function hasSameKinds(one: InputPrices, other: InputPrices): boolean {
  return (
    (one.inputPerMillion === undefined) === (other.inputPerMillion === undefined) &&
    (one.searchPerThousand === undefined) === (other.searchPerThousand === undefined) &&
    (one.charactersPerMillion === undefined) === (other.charactersPerMillion === undefined)
  );
}

const OF_IMAGES = '(has(self.interfaces) && "ImageGeneration" in self.interfaces)';
const hasInput = (prices: string) =>
  `has(${prices}.inputPerMillion) || has(${prices}.searchPerThousand) || has(${prices}.charactersPerMillion) || ${OF_IMAGES}`;
const OF_RERANK = '(has(self.interfaces) && "Rerank" in self.interfaces)';
const OF_SPEECH = '(has(self.interfaces) && "Speech" in self.interfaces)';
const sameKind = (name: string) => `has(each.${name}) == has(self.pricing.${name})`;

const KINDS = ["inputPerMillion", "searchPerThousand", "charactersPerMillion"];

/** The same for the API server. */
export const INPUT_PRICE_RULES: readonly Rule[] = [
  { rule: hasInput("self.pricing"), message: REQUIRED, field: "pricing.inputPerMillion" },
  { rule: `!has(self.cost) || ${hasInput("self.cost")}`, message: REQUIRED, field: "cost.inputPerMillion" },
  {
    rule: `!has(self.pricing.searchPerThousand) || ${OF_RERANK}`,
    message: RERANK_ALONE,
    field: "pricing.searchPerThousand",
  },
  {
    rule: `!has(self.cost) || !has(self.cost.searchPerThousand) || ${OF_RERANK}`,
    message: RERANK_ALONE,
    field: "cost.searchPerThousand",
  },
  {
    rule: `!has(self.pricing.charactersPerMillion) || ${OF_SPEECH}`,
    message: SPEECH_ALONE,
    field: "pricing.charactersPerMillion",
  },
  {
    rule: `!has(self.cost) || !has(self.cost.charactersPerMillion) || ${OF_SPEECH}`,
    message: SPEECH_ALONE,
    field: "cost.charactersPerMillion",
  },
  {
    rule: `!has(self.pricing.schedule) || self.pricing.schedule.all(each, ${KINDS.map(sameKind).join(" && ")})`,
    message: SAME_KINDS,
    field: "pricing.schedule",
  },
];
