/** Of MPEG 1, and of MPEG 2 and 2.5, by their index, in kbit/s. The first is "free", the last invalid. */
const RATES_1 = [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320];
const RATES_2 = [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160];
const SAMPLES_PER_SECOND = [44_100, 48_000, 32_000];

/** Bytes that are no frame, together: pictures are in the file's first tag, which is skipped. */
const MAX_JUNK_BYTES = 64 * 1024;
/** Zeros that some writers leave after the tag. */
const MAX_PADDING_BYTES = 4 * 1024;
const ID3_BYTES = 10;

/** Of each kind of frame, by `kindAt`: its bytes, 0 for an invalid one, and its seconds. A file may have a million frames. */
const FRAME_BYTES = new Uint16Array(512);
const FRAME_SECONDS = new Float64Array(512);
for (let kind = 0; kind < FRAME_BYTES.length; kind++) {
  const { bytes, seconds } = describeFrame(kind);
  FRAME_BYTES[kind] = bytes;
  FRAME_SECONDS[kind] = seconds;
}

/** An MP3 file by its frames. */
export interface Mp3 {
  seconds: number;
  /** Of the tag before the frames. */
  tagBytes: number;
  /** Elsewhere, of no frame. Some decoders find sound in such bytes. */
  junkBytes: number;
  /** There are frames behind such bytes: decoders differ in where they begin again. */
  isBroken: boolean;
}

/** Of a frame's kind: version and sample rate. Decoders take others in the middle of a file for no frames. */
const STREAM = 0b110000110;

/**
 * Measures an MP3 file frame by frame, as a decoder plays it: what a header says about the length is not believed.
 * @returns undefined for anything else.
 */
export function readMp3(file: Buffer): Mp3 | undefined {
  const first = firstFrame(file);
  if (first === undefined) return undefined;
  const stream = kindAt(file, first) & STREAM;
  let seconds = 0;
  let junkBytes = 0;
  let isBroken = false;
  for (let at = first; at < file.length;) {
    const kind = kindAt(file, at);
    const bytes = (kind & STREAM) === stream ? (FRAME_BYTES[kind] ?? 0) : 0;
    if (bytes === 0) junkBytes += 1;
    else {
      seconds += FRAME_SECONDS[kind] ?? 0;
      isBroken ||= junkBytes > 0;
    }
    if (junkBytes > MAX_JUNK_BYTES) return undefined;
    at += bytes === 0 ? 1 : bytes;
  }
  return { seconds, tagBytes: first, junkBytes, isBroken };
}

/**
 * Right at the beginning, or after a tag, and followed by another one: a file of another format may have what looks like frames
 * further on.
 */
function firstFrame(file: Buffer): number | undefined {
  let at = afterTag(file);
  for (const end = at + MAX_PADDING_BYTES; at < end && file[at] === 0; at++);
  const bytes = FRAME_BYTES[kindAt(file, at)] ?? 0;
  const next = at + bytes;
  const isFollowed = next >= file.length || FRAME_BYTES[kindAt(file, next)] !== 0;
  return bytes > 0 && isFollowed ? at : undefined;
}

/** Version, bit rate, sample rate and padding, in nine bits; 0, which is invalid, without the marks of a frame of layer III. */
function kindAt(file: Buffer, at: number): number {
  const second = file[at + 1] ?? 0;
  if (file[at] !== 0xff || (second & 0xe6) !== 0xe2) return 0;
  return ((second & 0x18) << 4) | ((file[at + 2] ?? 0) >> 1);
}

function describeFrame(kind: number): { bytes: number; seconds: number } {
  const version = kind >> 7;
  const isFirst = version === 3;
  const kilobits = (isFirst ? RATES_1 : RATES_2)[(kind >> 3) & 15] ?? 0;
  const base = SAMPLES_PER_SECOND[(kind >> 1) & 3];
  if (version === 1 || kilobits === 0 || base === undefined) return { bytes: 0, seconds: 0 };
  const perSecond = isFirst ? base : version === 2 ? base / 2 : base / 4;
  const samples = isFirst ? 1_152 : 576;
  return { bytes: Math.floor((samples * kilobits * 125) / perSecond) + (kind & 1), seconds: samples / perSecond };
}

/** ID3v2: its length has seven bits in each of four bytes; with an eighth it is no tag to decoders, which look for frames in it. */
function afterTag(file: Buffer): number {
  if (file.length < ID3_BYTES || file.toString("latin1", 0, 3) !== "ID3") return 0;
  const [a = 0, b = 0, c = 0, d = 0] = file.subarray(6, ID3_BYTES);
  if ((a | b | c | d) > 127) return 0;
  const hasFooter = ((file[5] ?? 0) & 0x10) !== 0;
  return ID3_BYTES + (a << 21) + (b << 14) + (c << 7) + d + (hasFooter ? ID3_BYTES : 0);
}
