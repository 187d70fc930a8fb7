import { isInputOnly, type CatalogueModel } from "../../../contract/catalogue.ts";
import { termsOf } from "../../../ledger/models/image-price.ts";
import type { Price } from "../../../ledger/money.ts";
import { showImagePrice, showMinutePrice, showPrice, showUnitPrice } from "../../money.ts";

/** A part of a price, as a column. */
export interface PriceClass {
  name: string;
  of(price: Price): string;
  isImage?: boolean;
}

const INPUT: PriceClass = { name: "Input", of: ({ inputPicoUsd }) => showPrice(inputPicoUsd) };
const OUTPUT: PriceClass = { name: "Output", of: ({ outputPicoUsd }) => showPrice(outputPicoUsd) };
const TOKENS: readonly PriceClass[] = [
  INPUT,
  { name: "Cached input", of: ({ cachedInputPicoUsd }) => showPrice(cachedInputPicoUsd) },
  { name: "Cache write", of: ({ cacheWritePicoUsd }) => showPrice(cacheWritePicoUsd) },
  OUTPUT,
];
const CHARACTERS: PriceClass = { name: "Million characters", of: ({ unitPicoUsd }) => showPrice(unitPicoUsd) };
const MINUTES: PriceClass = { name: "Minute of audio", of: ({ unitPicoUsd }) => showMinutePrice(unitPicoUsd) };
const SEARCHES: PriceClass = { name: "1,000 searches", of: ({ unitPicoUsd }) => showUnitPrice(unitPicoUsd) };

/** What a Model with these prices charges at any time. */
export function priceClasses(model: Pick<CatalogueModel, "interfaces">, prices: readonly Price[]): readonly PriceClass[] {
  if (model.interfaces.includes("image_generation")) return imageClasses(prices);
  const hasUnits = prices.some(({ unitPicoUsd }) => unitPicoUsd > 0n);
  const units = hasUnits ? [unitClass(model)] : [];
  if (!isInputOnly(model)) return [...TOKENS, ...units];
  const hasTokens = !hasUnits || prices.some(({ inputPicoUsd }) => inputPicoUsd > 0n);
  const hasOutput = prices.some(({ outputPicoUsd }) => outputPicoUsd > 0n);
  return [...(hasTokens ? [INPUT] : []), ...(hasOutput ? [OUTPUT] : []), ...units];
}

function unitClass({ interfaces }: Pick<CatalogueModel, "interfaces">): PriceClass {
  if (interfaces.includes("speech")) return CHARACTERS;
  return interfaces.includes("transcription") ? MINUTES : SEARCHES;
}

/** Tokens, and each size and quality that has a price of its own at any time, and all others. */
function imageClasses(prices: readonly Price[]): readonly PriceClass[] {
  const terms = new Set(prices.flatMap(({ imagePrices = [] }) => imagePrices.map(termsOf)));
  const own = [...terms].map((each): PriceClass => ({
    name: `Image, ${each}`,
    isImage: true,
    of({ imagePrices = [] }) {
      const price = imagePrices.find((one) => termsOf(one) === each);
      return price === undefined ? "–" : showImagePrice(price.unitPicoUsd);
    },
  }));
  const others: PriceClass = {
    name: own.length === 0 ? "Image" : "Other images",
    isImage: true,
    of: ({ unitPicoUsd }) => showImagePrice(unitPicoUsd),
  };
  return [
    ...(prices.some(({ inputPicoUsd }) => inputPicoUsd > 0n) ? [INPUT] : []),
    ...(prices.some(({ outputPicoUsd }) => outputPicoUsd > 0n) ? [OUTPUT] : []),
    ...own,
    ...(own.length > 0 || prices.some(({ unitPicoUsd }) => unitPicoUsd > 0n) ? [others] : []),
  ];
}

/** "USD per million tokens and per 1,000 searches." */
export function unitsOf(classes: readonly PriceClass[]): string {
  const hasSearches = classes.includes(SEARCHES);
  const hasImages = classes.some(({ isImage }) => isImage);
  const units = [
    ...(classes.includes(INPUT) || classes.includes(OUTPUT) ? ["per million tokens"] : []),
    ...(hasSearches ? ["per 1,000 searches"] : []),
    ...(hasImages ? ["per image"] : []),
    ...(classes.includes(CHARACTERS) ? ["per million characters"] : []),
    ...(classes.includes(MINUTES) ? ["per minute of audio"] : []),
  ];
  const about =
    " A search is a query with up to 100 documents; a document of more than 500 tokens, query included, counts once for each 500 of them.";
  const ofImages =
    " If neither the request nor the answer states an image's size or quality, the highest possible price applies.";
  return `USD ${units.join(" and ")}.${hasSearches ? about : ""}${hasImages ? ofImages : ""}`;
}
