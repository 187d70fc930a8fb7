import { readMp3 } from "./mp3.ts";
import { wavSeconds } from "./wav.ts";

/** How long a recording is, in seconds. */
export interface SoundLength {
  /** By its samples or frames if it is measured; otherwise at a usual rate. */
  likely: number;
  /** It has at least the likely length, whatever is written in it. */
  isMeasured: boolean;
  /** At the lowest rate at which speech is understood. */
  max: number;
}

/** By the first bytes of a file: bytes that a second usually has. */
const CONTAINERS: readonly { at: number; mark: Buffer; usual: number }[] = [
  // MP4 and M4A usually hold AAC.
  { at: 4, mark: Buffer.from("ftyp"), usual: 8_000 },
  { at: 0, mark: Buffer.from("fLaC"), usual: 16_000 },
];
/** Ogg and WebM usually hold Opus. */
const USUAL = 4_000;
/**
 * Bytes that a second has at least: 6 kbit/s is the least that Opus needs. The same for all, since most containers hold more than
 * one codec, and the mark of one may stand before the sound of another.
 */
const LEAST = 750;
/** Of an MP3 file: the tags that many have at their end. */
const FREE_JUNK_BYTES = 256;

/**
 * WAV and MP3 are measured exactly, and nothing that their sender may write changes that. Other formats say their length in a header
 * that decoders do not need, so that anyone can write another one: these are judged by their size.
 */
export function soundLength(file: Buffer): SoundLength {
  const seconds = wavSeconds(file);
  if (seconds !== undefined) return { likely: seconds, isMeasured: true, max: seconds };
  const bySize = file.length / LEAST;
  const mp3 = readMp3(file);
  if (mp3 !== undefined) {
    const likely = mp3.seconds + Math.max(0, mp3.junkBytes - FREE_JUNK_BYTES) / USUAL;
    const max = mp3.isBroken ? Math.max(likely, bySize) : mp3.seconds + (mp3.tagBytes + mp3.junkBytes) / LEAST;
    return { likely, isMeasured: true, max };
  }
  const { usual } = CONTAINERS.find(({ at, mark }) => file.subarray(at, at + mark.length).equals(mark)) ?? { usual: USUAL };
  return { likely: file.length / usual, isMeasured: false, max: bySize };
}
