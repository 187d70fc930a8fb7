/** Format tags: PCM, floating point, and the two laws of telephony. Others are compressed. */
const PLAIN: ReadonlySet<number> = new Set([1, 3, 6, 7]);
/** The tag is in a longer header. */
const EXTENSIBLE = 0xfffe;
/** Files have a handful. */
const MAX_CHUNKS = 64;
const MAX_SAMPLES_PER_SECOND = 384_000;

interface Samples {
  perSecond: number;
  bytes: number;
}

/**
 * The length of an uncompressed WAV file in seconds, by its bytes: what its header says about the length itself is not believed.
 * @returns undefined for anything else.
 */
export function wavSeconds(file: Buffer): number | undefined {
  if (file.length < 12 || file.toString("latin1", 0, 4) !== "RIFF" || file.toString("latin1", 8, 12) !== "WAVE") return undefined;
  let samples: Samples | undefined;
  let at = 12;
  for (let chunk = 0; chunk < MAX_CHUNKS && at + 8 <= file.length; chunk++) {
    const id = file.toString("latin1", at, at + 4);
    const bytes = file.readUInt32LE(at + 4);
    if (id === "data") return samples === undefined ? undefined : (file.length - at - 8) / samples.bytes / samples.perSecond;
    if (id === "fmt ") {
      // The first one counts for some readers, the last one for others.
      if (samples !== undefined) return undefined;
      samples = readFormat(file.subarray(at + 8, at + 8 + bytes));
      if (samples === undefined) return undefined;
    }
    at += 8 + bytes + (bytes % 2);
  }
  return undefined;
}

function readFormat(format: Buffer): Samples | undefined {
  if (format.length < 16) return undefined;
  const stated = format.readUInt16LE(0);
  const tag = stated === EXTENSIBLE && format.length >= 26 ? format.readUInt16LE(24) : stated;
  const channels = format.readUInt16LE(2);
  const perSecond = format.readUInt32LE(4);
  const frameBytes = format.readUInt16LE(12);
  const bits = format.readUInt16LE(14);
  // Readers go by one or the other: a file in which they differ would have two lengths.
  const bytes = channels * Math.ceil(bits / 8);
  const isPossible = bytes > 0 && bytes === frameBytes && perSecond > 0 && perSecond <= MAX_SAMPLES_PER_SECOND;
  return PLAIN.has(tag) && isPossible ? { perSecond, bytes } : undefined;
}
