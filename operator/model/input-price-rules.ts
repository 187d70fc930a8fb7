import * as z from "zod";
import type { Rule } from "../crd/explain.ts";

// Checks made both here and by the API server have the same messages.
const REQUIRED = "is required";
const RERANK_ALONE = "must be absent, except for Rerank: other interfaces have no searches";
const SPEECH_ALONE = "must be absent, except for Speech: other interfaces do not count characters";
const TRANSCRIPTION_ALONE = "must be absent, except for Transcription: other interfaces have no minutes of sound";
const SAME_KINDS =
  "must have inputPerMillion, searchPerThousand, charactersPerMillion, perMinute and, for Transcription, outputPerMillion in each entry if pricing has them, and only then";

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

interface Problem {
  path: string[];
  message: string;
}

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

function problemsOf(
  field: string,
  { inputPerMillion, searchPerThousand, charactersPerMillion, perMinute }: InputPrices,
  interfaces: readonly unknown[],
): Problem[] {
  const hasSearchPrice = searchPerThousand !== undefined;
  const hasCharacterPrice = charactersPerMillion !== undefined;
  // Those of images need none (image-price-rules.ts).
  const hasUnitPrice = hasSearchPrice || hasCharacterPrice || perMinute !== undefined;
  const isPriced = inputPerMillion !== undefined || hasUnitPrice || interfaces.includes("ImageGeneration");
  return [
    ...(!isPriced ? [{ path: [field, "inputPerMillion"], message: REQUIRED }] : []),
    ...(hasSearchPrice && !interfaces.includes("Rerank") ? [{ path: [field, "searchPerThousand"], message: RERANK_ALONE }] : []),
    ...(hasCharacterPrice && !interfaces.includes("Speech")
      ? [{ path: [field, "charactersPerMillion"], message: SPEECH_ALONE }]
      : []),
    ...(perMinute !== undefined && !interfaces.includes("Transcription")
      ? [{ path: [field, "perMinute"], message: TRANSCRIPTION_ALONE }]
      : []),
  ];
}

/** A scheduled price without one of them would make it free. */
function hasSameKinds(one: InputPrices, other: InputPrices, hasOutput: boolean): boolean {
  return (
    (one.inputPerMillion === undefined) === (other.inputPerMillion === undefined) &&
    (one.searchPerThousand === undefined) === (other.searchPerThousand === undefined) &&
    (one.charactersPerMillion === undefined) === (other.charactersPerMillion === undefined) &&
    (one.perMinute === undefined) === (other.perMinute === undefined) &&
    (!hasOutput || (one.outputPerMillion === undefined) === (other.outputPerMillion === undefined))
  );
}

const OF_IMAGES = '(has(self.interfaces) && "ImageGeneration" in self.interfaces)';
const hasInput = (prices: string) =>
  `has(${prices}.inputPerMillion) || has(${prices}.searchPerThousand) || has(${prices}.charactersPerMillion) || has(${prices}.perMinute) || ${OF_IMAGES}`;
const OF_RERANK = '(has(self.interfaces) && "Rerank" in self.interfaces)';
const OF_SPEECH = '(has(self.interfaces) && "Speech" in self.interfaces)';
const OF_TRANSCRIPTION = '(has(self.interfaces) && "Transcription" in self.interfaces)';
const sameKind = (name: string) => `has(each.${name}) == has(self.pricing.${name})`;

const KINDS = ["inputPerMillion", "searchPerThousand", "charactersPerMillion", "perMinute"];
const SAME = [...KINDS.map(sameKind), `(!${OF_TRANSCRIPTION} || ${sameKind("outputPerMillion")})`].join(" && ");

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
    rule: `!has(self.pricing.perMinute) || ${OF_TRANSCRIPTION}`,
    message: TRANSCRIPTION_ALONE,
    field: "pricing.perMinute",
  },
  {
    rule: `!has(self.cost) || !has(self.cost.perMinute) || ${OF_TRANSCRIPTION}`,
    message: TRANSCRIPTION_ALONE,
    field: "cost.perMinute",
  },
  {
    rule: `!has(self.pricing.schedule) || self.pricing.schedule.all(each, ${SAME})`,
    message: SAME_KINDS,
    field: "pricing.schedule",
  },
];
