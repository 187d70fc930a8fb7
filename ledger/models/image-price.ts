import type { ImageTraits } from "../../contract/units.ts";
import type { ImagePrice, Price } from "../money.ts";
import type { UnitPrice } from "../settlement/settlement.ts";

/** The highest price that an image with these traits can have: if both are known, its price. */
export function imagePriceOf(price: Price, { size, quality }: ImageTraits): UnitPrice {
  const { imagePrices = [] } = price;
  const sizes = size === null ? valuesOf(imagePrices, "size") : [size];
  const qualities = quality === null ? valuesOf(imagePrices, "quality") : [quality];
  const possible = sizes.flatMap((oneSize) => qualities.map((oneQuality) => exactPrice(price, oneSize, oneQuality)));
  return possible.reduce((dearest, each) => (each.picoUsd > dearest.picoUsd ? each : dearest));
}

/** "1024x1024, high". */
export function termsOf({ size, quality }: Pick<ImagePrice, "size" | "quality">): string {
  return [size, quality].filter((each) => each !== null).join(", ");
}

/** A value that no price names. */
const ANY_OTHER = "";

function valuesOf(prices: readonly ImagePrice[], trait: keyof ImageTraits): string[] {
  return [...new Set(prices.map((each) => each[trait] ?? ANY_OTHER)), ANY_OTHER];
}

/** The first that matches counts, and the Model's price of an image comes last. */
function exactPrice({ unitPicoUsd, imagePrices = [] }: Price, size: string, quality: string): UnitPrice {
  const own = imagePrices.find(
    (each) => (each.size === null || each.size === size) && (each.quality === null || each.quality === quality),
  );
  return own === undefined ? { picoUsd: unitPicoUsd, terms: "" } : { picoUsd: own.unitPicoUsd, terms: termsOf(own) };
}
