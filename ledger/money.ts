import { GatewayError } from "../contract/errors.ts";
import type { ProviderKeyFee } from "../contract/provider-key.ts";
import type { Usage } from "../contract/usage.ts";

/**
 * Cost of a token of each class, and of a unit (contract/units.ts), in pico-USD (10⁻¹² USD): in it public prices, USD per million
 * tokens, are whole numbers.
 */
export interface Price {
  inputPicoUsd: bigint;
  cachedInputPicoUsd: bigint;
  cacheWritePicoUsd: bigint;
  outputPicoUsd: bigint;
  /** 0 if only tokens are charged. */
  unitPicoUsd: bigint;
  /** Of images whose price depends on size or quality; absent if no price does. */
  imagePrices?: readonly ImagePrice[] | undefined;
  /** Charged in place of the rest: the request is sent with the account's own key. */
  fee?: ProviderKeyFee | undefined;
}

/** The price of an image of this size and quality, where they are not null; of several that match, the first counts. */
export interface ImagePrice {
  size: string | null;
  quality: string | null;
  unitPicoUsd: bigint;
}

const PICO_USD_DECIMALS = 6;
const PICO_PER_USD_DECIMALS = 12;
const NANO_USD_DECIMALS = 9;
const PERCENT_DECIMALS = 4;
export const PICO_PER_NANO = 1000n;

/**
 * A public price, "0.30" USD per million tokens, as pico-USD per token: 300000n.
 * @throws GatewayError `invalid_request` for anything but a plain decimal number, or with a part below one pico-USD.
 */
export function parsePrice(usdPerMillion: string): bigint {
  const amount = parseDecimal(usdPerMillion, PICO_USD_DECIMALS);
  if (amount !== undefined && amount >= 0n) return amount;
  throw new GatewayError(
    "invalid_request",
    `A price is USD per million tokens, written as a decimal number such as "0.30" with at most ${PICO_USD_DECIMALS} places.`,
  );
}

/** A price of units, "2.00" USD per thousand, as pico-USD for each: 2000000000n. @throws as `parsePrice` does. */
export function parsePricePerThousand(usdPerThousand: string): bigint {
  return parsePrice(usdPerThousand) * 1_000n;
}

/** The price of an image, "0.04" USD, as pico-USD: 40000000000n. @throws as `parsePrice` does. */
export function parsePricePerImage(usd: string): bigint {
  return parsePrice(usd) * 1_000_000n;
}

/**
 * The price of a minute of audio, "0.006" USD, as pico-USD for each second: 100000000n. What does not divide by sixty is rounded up,
 * by less than a nano-USD for an hour. @throws as `parsePrice` does.
 */
export function parsePricePerMinute(usd: string): bigint {
  return (parsePricePerImage(usd) + 59n) / 60n;
}

/** A price in USD per token or unit without trailing zeros: "0.000003". */
export function formatPicoUsd(picoUsd: bigint): string {
  const digits = picoUsd.toString().padStart(PICO_PER_USD_DECIMALS + 1, "0");
  const decimals = digits.slice(-PICO_PER_USD_DECIMALS).replace(/0+$/, "");
  const whole = digits.slice(0, -PICO_PER_USD_DECIMALS);
  return decimals === "" ? whole : `${whole}.${decimals}`;
}

/**
 * The cost of a request, in nano-USD (S28). The classes are summed exactly and rounded once: rounding each class would add up to
 * four errors. Half is rounded to even, so that many roundings favor nobody.
 * @throws RangeError for a count that is not a whole number from 0 up: a meter's bug, never billed.
 */
export function chargeNanoUsd(usage: Usage, price: Price): bigint {
  const picoUsd =
    whole(usage.inputTokens) * price.inputPicoUsd +
    whole(usage.cachedInputTokens) * price.cachedInputPicoUsd +
    whole(usage.cacheWriteTokens) * price.cacheWritePicoUsd +
    whole(usage.outputTokens) * price.outputPicoUsd +
    whole(usage.units ?? 0) * price.unitPicoUsd;
  return price.fee === undefined ? roundHalf(picoUsd, PICO_PER_NANO) : feeNanoUsd(picoUsd, price.fee);
}

const MILLION = 1_000_000n;

/** Rounded once, as every charge is. */
function feeNanoUsd(listPicoUsd: bigint, { requestPicoUsd, millionths }: ProviderKeyFee): bigint {
  return roundHalf(requestPicoUsd * MILLION + listPicoUsd * millionths, PICO_PER_NANO * MILLION);
}

/**
 * The most that tokens and units may cost, at their prices, for a charge of at most this amount, rounded down; null: any number of
 * them does.
 */
export function coveredPicoUsd(nanoUsd: bigint, { fee }: Pick<Price, "fee">): bigint | null {
  if (fee === undefined) return nanoUsd * PICO_PER_NANO;
  const restPicoUsd = nanoUsd * PICO_PER_NANO - fee.requestPicoUsd;
  if (restPicoUsd < 0n) return 0n;
  return fee.millionths === 0n ? null : (restPicoUsd * MILLION) / fee.millionths;
}

/** A share in percent, "2.5", as millionths: 25000n. @throws GatewayError `invalid_request` for anything else, and more than 100. */
export function parsePercent(percent: string): bigint {
  const amount = parseDecimal(percent, PERCENT_DECIMALS);
  if (amount !== undefined && amount >= 0n && amount <= MILLION) return amount;
  throw new GatewayError(
    "invalid_request",
    `A share is a percentage from 0 to 100, written as a decimal number such as "2.5" with at most ${PERCENT_DECIMALS} places.`,
  );
}

/** Without trailing zeros: "2.5". */
export function formatPercent(millionths: bigint): string {
  const digits = millionths.toString().padStart(PERCENT_DECIMALS + 1, "0");
  const decimals = digits.slice(-PERCENT_DECIMALS).replace(/0+$/, "");
  const whole = digits.slice(0, -PERCENT_DECIMALS);
  return decimals === "" ? whole : `${whole}.${decimals}`;
}

/** 4998120000n as "4.998120000": always nine places, as JSON and pages show money (S29). */
export function formatNanoUsd(nanoUsd: bigint): string {
  const sign = nanoUsd < 0n ? "-" : "";
  const digits = (nanoUsd < 0n ? -nanoUsd : nanoUsd).toString().padStart(NANO_USD_DECIMALS + 1, "0");
  return `${sign}${digits.slice(0, -NANO_USD_DECIMALS)}.${digits.slice(-NANO_USD_DECIMALS)}`;
}

/**
 * An amount in USD, "4.99812" or "-0.5", as nano-USD.
 * @throws GatewayError `invalid_request` for anything but a plain decimal number, or with a part below one nano-USD.
 */
export function parseNanoUsd(usd: string): bigint {
  const amount = parseDecimal(usd, NANO_USD_DECIMALS);
  if (amount !== undefined) return amount;
  throw new GatewayError(
    "invalid_request",
    `An amount is USD, written as a decimal number such as "5.00" with at most ${NANO_USD_DECIMALS} places.`,
  );
}

/** @returns the number × 10^decimals, or undefined if that is not exact; zeros after the last place do not matter. */
function parseDecimal(text: string, decimals: number): bigint | undefined {
  const match = /^(-?)(\d{1,15})(?:\.(\d{1,30}))?$/.exec(text);
  if (match === null) return undefined;
  const [, sign = "", whole = "", fraction = ""] = match;
  if (/[1-9]/.test(fraction.slice(decimals))) return undefined;
  const magnitude = BigInt(whole + fraction.slice(0, decimals).padEnd(decimals, "0"));
  return sign === "-" ? -magnitude : magnitude;
}

function whole(count: number): bigint {
  if (!Number.isSafeInteger(count) || count < 0) throw new RangeError(`${count} is not a number of tokens or units.`);
  return BigInt(count);
}

/** The sum is never negative; half is rounded to even. */
function roundHalf(sum: bigint, divisor: bigint): bigint {
  const whole = sum / divisor;
  const rest = sum % divisor;
  const half = divisor / 2n;
  const isUp = rest > half || (rest === half && whole % 2n === 1n);
  return isUp ? whole + 1n : whole;
}

/** Of two amounts: `Math.min` takes no bigint. */
export function smallest(one: bigint, other: bigint): bigint {
  return one < other ? one : other;
}

/** Of two amounts: `Math.max` takes no bigint. */
export function largest(one: bigint, other: bigint): bigint {
  return one > other ? one : other;
}
