/** Of MPEG 1, and of MPEG 2 and 2.5, by their index, in kbit/s. The first is "free", the last invalid. */
const RATES_1 = [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320];
const RATES_2 = [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160];
const SAMPLES_PER_SECOND = [44_100, 48_000, 32_000];

/** Bytes that are no frame, together: pictures are in the file's first tag, which is skipped. */
const MAX_JUNK_BYTES = 64 * 1024;
/** Zeros that some writers leave after the tag. */
const MAX_PADDING_BYTES = 4 * 1024;
const HEADER_BYTES = 4;
const ID3_BYTES = 10;

/**
 * The length of an MP3 file in seconds, by its frames, as a decoder plays them: what a header says about the length is not believed.
 * About twenty nanoseconds a frame; a minute has 2,300.
 * @returns undefined for anything else.
 */
export function mp3Seconds(file: Buffer): number | undefined {
  let at = firstFrame(file);
  if (at === undefined) return undefined;
  let seconds = 0;
  let junk = 0;
  while (at + HEADER_BYTES <= file.length) {
    const frame = readFrame(file.readUInt32BE(at));
    seconds += frame?.seconds ?? 0;
    junk += frame === undefined ? 1 : 0;
    if (junk > MAX_JUNK_BYTES) return undefined;
    at += frame?.bytes ?? 1;
  }
  return seconds;
}

/**
 * Right at the beginning, or after a tag, and followed by another one: a file of another format may have what looks like frames
 * further on.
 */
function firstFrame(file: Buffer): number | undefined {
  let at = afterTag(file);
  for (const end = at + MAX_PADDING_BYTES; at < end && file[at] === 0; at++);
  if (at + HEADER_BYTES > file.length) return undefined;
  const next = at + (readFrame(file.readUInt32BE(at))?.bytes ?? 0);
  if (next === at) return undefined;
  const isFollowed = next + HEADER_BYTES > file.length || readFrame(file.readUInt32BE(next)) !== undefined;
  return isFollowed ? at : undefined;
}

function readFrame(header: number): { bytes: number; seconds: number } | undefined {
  // Eleven bits of synchronization, and layer III.
  if (header >>> 21 !== 0x7ff || ((header >>> 17) & 3) !== 1) return undefined;
  const version = (header >>> 19) & 3;
  if (version === 1) return undefined;
  const isFirst = version === 3;
  const kilobits = (isFirst ? RATES_1 : RATES_2)[(header >>> 12) & 15] ?? 0;
  const base = SAMPLES_PER_SECOND[(header >>> 10) & 3];
  if (kilobits === 0 || base === undefined) return undefined;
  const perSecond = isFirst ? base : version === 2 ? base / 2 : base / 4;
  const samples = isFirst ? 1_152 : 576;
  const padding = (header >>> 9) & 1;
  return { bytes: Math.floor((samples * kilobits * 125) / perSecond) + padding, seconds: samples / perSecond };
}

/** ID3v2: its length has seven bits in each of four bytes. */
function afterTag(file: Buffer): number {
  if (file.length < ID3_BYTES || file.toString("latin1", 0, 3) !== "ID3") return 0;
  const [a = 0, b = 0, c = 0, d = 0] = file.subarray(6, ID3_BYTES);
  const hasFooter = ((file[5] ?? 0) & 0x10) !== 0;
  return ID3_BYTES + ((a & 127) << 21) + ((b & 127) << 14) + ((c & 127) << 7) + (d & 127) + (hasFooter ? ID3_BYTES : 0);
}
