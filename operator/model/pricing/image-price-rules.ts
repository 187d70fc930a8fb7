import * as z from "zod";
import type { Rule } from "../../crd/explain.ts";
import type { Problem } from "../field-message.ts";
import { isOf } from "../input-interfaces.ts";

// Checks made both here and by the API server have the same messages.
const REQUIRED = "is required for ImageGeneration, unless outputPerMillion is there";
const IMAGES_ALONE = "must be absent, except for ImageGeneration: other interfaces have no images";
const BESIDE = "must be absent without perImage, the price of all other images";
const SAME_KINDS =
  "must have perImage and, for ImageGeneration, outputPerMillion in each entry if pricing has them, and only then; images only beside perImage";

const anything = z.unknown().optional();
const imagePrices = z.object({ perImage: anything, images: anything, outputPerMillion: anything });
type ImagePrices = z.infer<typeof imagePrices>;

/** What the rules read of a Model's specification; other invalid fields are reported as well. */
const pricedSpec = z.object({
  interfaces: z.array(z.unknown()).default([]),
  pricing: imagePrices.extend({ schedule: z.array(imagePrices).default([]) }),
  cost: imagePrices.optional(),
});

/** An image is charged by itself, by its tokens, or by both; its price may depend on its size and quality. */
export function imagePriceProblems(spec: unknown): Problem[] {
  const parsed = pricedSpec.safeParse(spec);
  if (!parsed.success) return [];
  const { interfaces, pricing, cost } = parsed.data;
  const isImages = interfaces.includes("ImageGeneration");
  const problems = [
    ...problemsOf("pricing", pricing, isImages),
    ...(cost === undefined ? [] : problemsOf("cost", cost, isImages)),
  ];
  if (pricing.images !== undefined && pricing.perImage === undefined)
    problems.push({ path: ["pricing", "images"], message: BESIDE });
  if (!pricing.schedule.every((each) => isSameKind(each, pricing, isImages)))
    problems.push({ path: ["pricing", "schedule"], message: SAME_KINDS });
  return problems;
}

function problemsOf(field: string, { perImage, outputPerMillion }: ImagePrices, isImages: boolean): Problem[] {
  const path = [field, "perImage"];
  if (isImages) return perImage === undefined && outputPerMillion === undefined ? [{ path, message: REQUIRED }] : [];
  return perImage === undefined ? [] : [{ path, message: IMAGES_ALONE }];
}

/** A scheduled price without one of them would make it free. */
function isSameKind(one: ImagePrices, other: ImagePrices, isImages: boolean): boolean {
  return (
    (one.perImage === undefined) === (other.perImage === undefined) &&
    (!isImages || (one.outputPerMillion === undefined) === (other.outputPerMillion === undefined)) &&
    (one.images === undefined || one.perImage !== undefined)
  );
}

const OF_IMAGES = isOf("ImageGeneration");
const hasImage = (prices: string) => `has(${prices}.perImage) || has(${prices}.outputPerMillion)`;
const SAME_KIND = [
  "has(each.perImage) == has(self.pricing.perImage)",
  `(!${OF_IMAGES} || has(each.outputPerMillion) == has(self.pricing.outputPerMillion))`,
  "(!has(each.images) || has(each.perImage))",
].join(" && ");

/** The same for the API server. */
export const IMAGE_PRICE_RULES: readonly Rule[] = [
  { rule: `!${OF_IMAGES} || ${hasImage("self.pricing")}`, message: REQUIRED, field: "pricing.perImage" },
  { rule: `!${OF_IMAGES} || !has(self.cost) || ${hasImage("self.cost")}`, message: REQUIRED, field: "cost.perImage" },
  { rule: `!has(self.pricing.perImage) || ${OF_IMAGES}`, message: IMAGES_ALONE, field: "pricing.perImage" },
  { rule: `!has(self.cost) || !has(self.cost.perImage) || ${OF_IMAGES}`, message: IMAGES_ALONE, field: "cost.perImage" },
  { rule: "!has(self.pricing.images) || has(self.pricing.perImage)", message: BESIDE, field: "pricing.images" },
  {
    rule: `!has(self.pricing.schedule) || self.pricing.schedule.all(each, ${SAME_KIND})`,
    message: SAME_KINDS,
    field: "pricing.schedule",
  },
];
