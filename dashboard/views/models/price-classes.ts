import { isInputOnly, type CatalogueModel } from "../../../contract/catalogue.ts";
import type { Price } from "../../../ledger/money.ts";
import { showPrice, showUnitPrice } from "../../money.ts";

/** A part of a price, as a column. */
export interface PriceClass {
  name: string;
  of(price: Price): string;
}

const INPUT: PriceClass = { name: "Input", of: ({ inputPicoUsd }) => showPrice(inputPicoUsd) };
const TOKENS: readonly PriceClass[] = [
  INPUT,
  { name: "Cached input", of: ({ cachedInputPicoUsd }) => showPrice(cachedInputPicoUsd) },
  { name: "Cache write", of: ({ cacheWritePicoUsd }) => showPrice(cacheWritePicoUsd) },
  { name: "Output", of: ({ outputPicoUsd }) => showPrice(outputPicoUsd) },
];
const SEARCHES: PriceClass = { name: "1,000 searches", of: ({ unitPicoUsd }) => showUnitPrice(unitPicoUsd) };

/** What a Model with these prices charges at any time. */
export function priceClasses(model: Pick<CatalogueModel, "interfaces">, prices: readonly Price[]): readonly PriceClass[] {
  const hasSearches = prices.some(({ unitPicoUsd }) => unitPicoUsd > 0n);
  if (!isInputOnly(model)) return hasSearches ? [...TOKENS, SEARCHES] : TOKENS;
  const hasTokens = !hasSearches || prices.some(({ inputPicoUsd }) => inputPicoUsd > 0n);
  return [...(hasTokens ? [INPUT] : []), ...(hasSearches ? [SEARCHES] : [])];
}

/** "USD per million tokens and per 1,000 searches." */
export function unitsOf(classes: readonly PriceClass[]): string {
  const hasSearches = classes.includes(SEARCHES);
  const units = [...(classes.includes(INPUT) ? ["per million tokens"] : []), ...(hasSearches ? ["per 1,000 searches"] : [])];
  const about =
    " A search is a query with up to 100 documents; a document of more than 500 tokens, query included, counts once for each 500 of them.";
  return `USD ${units.join(" and ")}.${hasSearches ? about : ""}`;
}
