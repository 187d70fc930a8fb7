/** Format tags with the bytes of a sample: PCM, floating point, and the two laws of telephony. Others are compressed. */
const PLAIN: ReadonlyMap<number, readonly number[]> = new Map([
  [1, [1, 2, 3, 4]],
  [3, [4, 8]],
  [6, [1]],
  [7, [1]],
]);
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
  const isExtended = stated === EXTENSIBLE && format.length >= 26;
  const bits = format.readUInt16LE(14);
  // Some readers go by the bits that are used, others by all of them: the length is the longer one.
  const usedBits = (isExtended ? format.readUInt16LE(18) : bits) || bits;
  const sampleBytes = bytesOf(isExtended ? format.readUInt16LE(24) : stated, bits);
  const channels = format.readUInt16LE(2);
  const perSecond = format.readUInt32LE(4);
  const frameBytes = format.readUInt16LE(12);
  // Readers go by one or the other: a file in which they differ would have two lengths.
  const isPossible = sampleBytes !== undefined && channels > 0 && channels * sampleBytes === frameBytes;
  if (!isPossible || perSecond === 0 || perSecond > MAX_SAMPLES_PER_SECOND) return undefined;
  return { perSecond, bytes: channels * Math.min(sampleBytes, Math.ceil(usedBits / 8)) };
}

/** Of a sample. Undefined for sizes that a format does not have: readers of telephony's laws do not look at them. */
function bytesOf(tag: number, bits: number): number | undefined {
  const bytes = Math.ceil(bits / 8);
  return PLAIN.get(tag)?.includes(bytes) === true ? bytes : undefined;
}
