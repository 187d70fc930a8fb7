import type { ImagePrice, Price } from "../../../ledger/money.ts";
import type { TestBackend, TestModelOfMany } from "../stacks/backend-manifests.ts";

const CENT = 10_000_000_000n;

/** Four cents for each image, and nothing for tokens. */
export const EACH_PRICE: Price = {
  inputPicoUsd: 0n,
  cachedInputPicoUsd: 0n,
  cacheWritePicoUsd: 0n,
  outputPicoUsd: 0n,
  unitPicoUsd: 4n * CENT,
};
const IMAGE_PRICES: readonly ImagePrice[] = [
  { size: null, quality: "low", unitPicoUsd: CENT },
  { size: "1024x1024", quality: "high", unitPicoUsd: 16n * CENT },
  { size: null, quality: "high", unitPicoUsd: 25n * CENT },
];
export const BY_QUALITY: Price = { ...EACH_PRICE, imagePrices: IMAGE_PRICES };

/** A Model with the same prices by quality. */
export function imageModel(name: string, backends: TestBackend[]): TestModelOfMany {
  const prices = [
    { quality: "low", perImage: "0.01" },
    { size: "1024x1024", quality: "high", perImage: "0.16" },
    { quality: "high", perImage: "0.25" },
  ];
  return { name, interfaces: ["ImageGeneration"], pricing: { perImage: "0.04", images: prices }, backends };
}

/** The scripted server of this name. */
export function imageBackend(url: string, name: string): TestBackend {
  return { name: "first", protocol: "chat", url: `${url}/${name}`, upstreamModel: "inner-model" };
}
