import type { Interface } from "../contract/protocol.ts";
import { formatNanoUsd, formatPicoUsd, type Price } from "../ledger/money.ts";

/** For people: "$4.99", with more decimals if two would hide digits; never rounded up. */
export function showUsd(nanoUsd: bigint): string {
  const [whole = "0", decimals = ""] = formatNanoUsd(nanoUsd < 0n ? -nanoUsd : nanoUsd).split(".");
  const shown = decimals.replace(/0+$/, "").padEnd(2, "0");
  return `${nanoUsd < 0n ? "−" : ""}$${whole.replace(/\B(?=(\d{3})+$)/g, ",")}.${whole === "0" ? shown : shown.slice(0, 4)}`;
}

/** A published price: USD per million tokens. */
export function showPrice(picoUsd: bigint): string {
  return `$${pricePerMillion(picoUsd)}`;
}

/** A published price of units: USD per thousand. */
export function showUnitPrice(picoUsd: bigint): string {
  return `$${pricePerThousand(picoUsd)}`;
}

/** A published price of an image, in USD. */
export function showImagePrice(picoUsd: bigint): string {
  return `$${pricePerImage(picoUsd)}`;
}

/** The same for programs: decimal strings for each class of tokens and each kind of unit. */
export function showPrices(price: Price, client: string | undefined) {
  const { inputPicoUsd, cachedInputPicoUsd, cacheWritePicoUsd, outputPicoUsd, unitPicoUsd } = price;
  const unitOf = (kind: Interface) => (client === kind ? unitPicoUsd : 0n);
  return {
    input: pricePerMillion(inputPicoUsd),
    cached_input: pricePerMillion(cachedInputPicoUsd),
    cache_write: pricePerMillion(cacheWritePicoUsd),
    output: pricePerMillion(outputPicoUsd),
    search: pricePerThousand(unitOf("rerank")),
    image: pricePerImage(unitOf("image_generation")),
    character: pricePerMillion(unitOf("speech")),
    minute: pricePerMinute(unitOf("transcription")),
  };
}

/** A published price of a minute of audio, in USD. */
export function showMinutePrice(picoUsdPerSecond: bigint): string {
  return `$${pricePerMinute(picoUsdPerSecond)}`;
}

const PICO_PER_MICRO = 1_000_000n;

/** As it was published, with up to six decimals: that of a second was rounded up by less than a pico-USD. */
export function pricePerMinute(picoUsdPerSecond: bigint): string {
  return pricePerImage(((picoUsdPerSecond * 60n) / PICO_PER_MICRO) * PICO_PER_MICRO);
}

/** At least two decimals, as prices of tokens have them. */
export function pricePerImage(picoUsd: bigint): string {
  const [whole = "0", decimals = ""] = formatPicoUsd(picoUsd).split(".");
  return `${whole}.${decimals.padEnd(2, "0")}`;
}

/** Without trailing zeros. */
function pricePerMillion(picoUsd: bigint): string {
  return perMillion(picoUsd).replace(/0{1,4}$/, "");
}

/** Prices of units have at most six decimals as well. */
export function perThousand(picoUsd: bigint): string {
  return perMillion(picoUsd / 1_000n);
}

/** Without trailing zeros. */
function pricePerThousand(picoUsd: bigint): string {
  return pricePerMillion(picoUsd / 1_000n);
}

/** Six decimals: pico-USD per token is micro-USD per million tokens. */
export function perMillion(picoUsd: bigint): string {
  return formatNanoUsd(picoUsd * 1000n).slice(0, -3);
}
