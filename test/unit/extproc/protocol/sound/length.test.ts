import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { soundLength } from "../../../../../extproc/protocol/sound/length.ts";
import { mp3File, wavFile } from "../../../../support/dashboard/forms.ts";

/** How long a recording is, by its bytes alone (S54). */
const FRAME_SECONDS = 1_152 / 44_100;

function writeFormat(file: Buffer, { tag, bits }: { tag: number; bits: number }): void {
  file.writeUInt16LE(tag, 20);
  file.writeUInt16LE(Math.ceil(bits / 8), 32);
  file.writeUInt16LE(bits, 34);
}

/** A tag before an MP3 file's frames. @param size as its four bytes say it. */
function id3(size: readonly number[]): Buffer {
  const tag = Buffer.alloc(10);
  tag.write("ID3\u0004");
  tag.set(size, 6);
  return tag;
}

/** Frames of 8 kbit/s at 8 kHz, MPEG 2.5: 72 bytes and 0.072 seconds each. */
function slowMp3(frames: number): Buffer {
  const frame = Buffer.alloc(72);
  frame.writeUInt32BE(0xffe318c0, 0);
  return Buffer.concat(Array.from({ length: frames }, () => frame));
}

describe("WAV", () => {
  test("with room for more bits than it uses has the length that its used bits say", () => {
    const plain = wavFile(60);
    const format = Buffer.alloc(48);
    plain.copy(format, 0, 12, 36);
    format.writeUInt32LE(40, 4);
    format.writeUInt16LE(0xfffe, 8);
    format.writeUInt16LE(4, 20);
    format.writeUInt16LE(32, 22);
    format.writeUInt16LE(22, 24);
    format.writeUInt16LE(8, 26);
    format.writeUInt16LE(1, 32);
    const file = Buffer.concat([plain.subarray(0, 12), format, plain.subarray(36)]);
    expect(soundLength(file)).toEqual({ likely: 120, isMeasured: true, max: 120 });
    file.writeUInt16LE(32, 12 + 26);
    expect(soundLength(file)).toEqual({ likely: 30, isMeasured: true, max: 30 });
  });

  test("is measured to the sample", () => {
    expect(soundLength(wavFile(12.5))).toEqual({ likely: 12.5, isMeasured: true, max: 12.5 });
    expect(soundLength(wavFile(3, 44_100))).toEqual({ likely: 3, isMeasured: true, max: 3 });
  });

  test("is not shorter because its header says so", () => {
    const file = wavFile(60);
    file.writeUInt32LE(100, 40);
    expect(soundLength(file).likely).toBe(60);
    file.writeUInt32LE(0xffffffff, 40);
    expect(soundLength(file).likely).toBe(60);
    // Nor by the bytes of a second that it states, which decoders do not need.
    file.writeUInt32LE(0xffffffff, 28);
    expect(soundLength(file).likely).toBe(60);
  });

  test.for([
    ["a frame that is longer than its samples", (file: Buffer) => file.writeUInt16LE(400, 32)],
    ["an impossible rate", (file: Buffer) => file.writeUInt32LE(4_000_000_000, 24)],
    ["a compressed format", (file: Buffer) => file.writeUInt16LE(0x55, 20)],
    ["no channel", (file: Buffer) => file.writeUInt16LE(0, 22)],
    ["samples of a law that are wider than it has", (file: Buffer) => writeFormat(file, { tag: 6, bits: 65_528 })],
    ["samples that are wider than PCM has", (file: Buffer) => writeFormat(file, { tag: 1, bits: 64 })],
    ["floating point of 16 bits", (file: Buffer) => file.writeUInt16LE(3, 20)],
  ] as const)("with %s is judged by its size", ([, change]) => {
    const file = wavFile(60);
    change(file);
    expect(soundLength(file)).toEqual({ likely: file.length / 4_000, isMeasured: false, max: file.length / 750 });
  });
});

describe("MP3", () => {
  test("is measured frame by frame", () => {
    const length = soundLength(mp3File(1_000));
    expect(length.likely).toBeCloseTo(1_000 * FRAME_SECONDS, 6);
    expect(length.max).toBe(length.likely);
  });

  test("has tags before and after it, which are no sound", () => {
    const tag = Buffer.alloc(10 + 2_000);
    tag.write("ID3");
    tag.set([0, 0, 15, 80], 6);
    const end = Buffer.alloc(128);
    end.write("TAG");
    expect(soundLength(Buffer.concat([tag, mp3File(100), end])).likely).toBeCloseTo(100 * FRAME_SECONDS, 6);
  });

  test("hides no frames behind a tag that decoders do not take for one", () => {
    const sound = mp3File(1_000);
    const hidden = Buffer.concat([id3([0x80, 0x19, 0x3d, 0x38]), sound]);
    expect(soundLength(hidden)).toEqual({ likely: hidden.length / 4_000, isMeasured: false, max: hidden.length / 750 });
  });

  test("may be longer by what some decoders find in its tag, and behind its frames", () => {
    const tag = Buffer.concat([id3([0, 0, 117, 48]), Buffer.alloc(15_024)]);
    expect(soundLength(Buffer.concat([tag, mp3File(100)])).max).toBeCloseTo(100 * FRAME_SECONDS + tag.length / 750, 6);
    const rest = soundLength(Buffer.concat([mp3File(100), Buffer.alloc(60_256)]));
    expect(rest.likely).toBeCloseTo(100 * FRAME_SECONDS + 60_000 / 4_000, 6);
    expect(rest.max).toBeCloseTo(100 * FRAME_SECONDS + 60_256 / 750, 6);
  });

  test("is not shorter by large frames of another rate around small ones", () => {
    const inner = slowMp3(2_000);
    const file = Buffer.concat([slowMp3(2), inner]);
    // MPEG 1, 320 kbit/s at 32 kHz: decoders go on with the small frames inside.
    for (let at = 144; at + 4 < file.length; at += 1_440) file.writeUInt32BE(0xfffbe8c0, at + 36);
    expect(soundLength(file).max).toBeGreaterThanOrEqual(2_000 * 0.072);
  });

  test("that goes on behind what is no frame may be as long as its size allows", () => {
    const file = Buffer.concat([mp3File(100), Buffer.from("x"), mp3File(100)]);
    expect(soundLength(file).likely).toBeCloseTo(200 * FRAME_SECONDS, 6);
    expect(soundLength(file).max).toBe(file.length / 750);
  });

  test("is not another file that has frames in it", () => {
    const webm = Buffer.concat([Buffer.from([0x1a, 0x45, 0xdf, 0xa3]), mp3File(100)]);
    expect(soundLength(webm).max).toBe(webm.length / 750);
    const tagged = Buffer.concat([Buffer.from("ID3\u0004\0\0\0\0\0\0", "latin1"), webm]);
    expect(soundLength(tagged).max).toBe(tagged.length / 750);
  });

  test("with much that is no frame is judged by its size", () => {
    const file = Buffer.concat([mp3File(10), Buffer.alloc(100_000)]);
    expect(soundLength(file)).toEqual({ likely: file.length / 4_000, isMeasured: false, max: file.length / 750 });
  });
});

test.for([
  ["Ogg", Buffer.from("OggS"), 4_000, 750],
  ["M4A", Buffer.from("\0\0\0\x20ftypM4A "), 8_000, 750],
  ["FLAC", Buffer.from("fLaC"), 16_000, 750],
  ["unknown", Buffer.from("what?"), 4_000, 750],
] as const)("%s is judged by its size", ([, mark, usual, least]) => {
  const file = Buffer.concat([mark, Buffer.alloc(120_000 - mark.length)]);
  expect(soundLength(file)).toEqual({ likely: 120_000 / usual, isMeasured: false, max: 120_000 / least });
});

test("any bytes have a length, which is never above its maximum", () => {
  fc.assert(
    fc.property(
      fc.constantFrom("", "RIFF\0\0\0\0WAVEfmt \x10\0\0\0", "ID3", "\xff\xfb\x90\0", "OggS"),
      fc.uint8Array({ minLength: 1, maxLength: 2_000 }),
      (mark, rest) => {
        const { likely, max } = soundLength(Buffer.concat([Buffer.from(mark, "latin1"), rest]));
        expect(Number.isFinite(max)).toBe(true);
        expect(likely).toBeGreaterThanOrEqual(0);
        expect(likely).toBeLessThanOrEqual(max);
      },
    ),
    { numRuns: 1_000 },
  );
});
