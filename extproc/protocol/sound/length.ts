import { mp3Seconds } from "./mp3.ts";
import { wavSeconds } from "./wav.ts";

/** How long a recording is, in seconds. */
export interface SoundLength {
  /** By its bytes, where these tell; otherwise at a usual rate. */
  likely: number;
  /** At the lowest rate at which speech is understood. */
  max: number;
}

/** Bytes in each second of a compressed recording. */
interface Rates {
  usual: number;
  least: number;
}

/** By the first bytes of a file: 6, 12 and 32 kbit/s are what these formats need at least, by what their makers say. */
const CONTAINERS: readonly (Rates & { at: number; mark: Buffer })[] = [
  // Ogg and WebM hold Opus.
  { at: 0, mark: Buffer.from("OggS"), usual: 4_000, least: 750 },
  { at: 0, mark: Buffer.from([0x1a, 0x45, 0xdf, 0xa3]), usual: 4_000, least: 750 },
  // MP4 and M4A hold AAC.
  { at: 4, mark: Buffer.from("ftyp"), usual: 8_000, least: 1_500 },
  { at: 0, mark: Buffer.from("fLaC"), usual: 16_000, least: 4_000 },
];
const UNKNOWN: Rates = { usual: 4_000, least: 750 };

/**
 * WAV and MP3 are measured exactly, and nothing that their sender may write changes that. Other formats say their length in a header
 * that decoders do not need, so that anyone can write another one: these are judged by their size.
 */
export function soundLength(file: Buffer): SoundLength {
  const exact = wavSeconds(file) ?? mp3Seconds(file);
  if (exact !== undefined) return { likely: exact, max: exact };
  const { usual, least } = CONTAINERS.find(({ at, mark }) => file.subarray(at, at + mark.length).equals(mark)) ?? UNKNOWN;
  return { likely: file.length / usual, max: file.length / least };
}
