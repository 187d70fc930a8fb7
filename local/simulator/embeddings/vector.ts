import { countTokens } from "../prompt.ts";
import type { EmbeddedInput } from "./request.ts";

/** Further words do not change a vector. */
const MAX_WORDS = 256;

/**
 * A vector of length 1, always the same: the mean of its words' directions. Texts that share words are close to one another, so a
 * search over a few notes finds the right one.
 */
export function embed(input: EmbeddedInput, dimensions: number): Float32Array {
  const sum = new Float32Array(dimensions);
  for (const word of wordsOf(input)) addDirection(sum, seedOf(word));
  const length = Math.sqrt(sum.reduce((total, each) => total + each * each, 0));
  return length === 0 ? sum : sum.map((each) => each / length);
}

export function countInput(input: EmbeddedInput): number {
  return typeof input === "string" ? countTokens(input) : input.length;
}

function wordsOf(input: EmbeddedInput): readonly string[] {
  if (typeof input !== "string") return input.slice(0, MAX_WORDS).map(String);
  const words = input
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== "");
  return (words.length === 0 ? [input] : words).slice(0, MAX_WORDS);
}

/** FNV-1a. */
function seedOf(word: string): number {
  let hash = 0x81_1c_9d_c5;
  for (const byte of Buffer.from(word)) hash = Math.imul(hash ^ byte, 0x01_00_01_93);
  return hash >>> 0;
}

/** Numbers in [-0.5, 0.5) from xorshift32. */
function addDirection(sum: Float32Array, seed: number): void {
  let state = seed === 0 ? 1 : seed;
  for (let index = 0; index < sum.length; index++) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    sum[index] = (sum[index] ?? 0) + (state >>> 0) / 2 ** 32 - 0.5;
  }
}
