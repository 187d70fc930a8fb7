import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { soundLength } from "../../../../../extproc/protocol/sound/length.ts";
import { mp3File, wavFile } from "../../../../support/forms.ts";

/** How long a recording is, by its bytes alone (S54). */
const FRAME_SECONDS = 1_152 / 44_100;

describe("WAV", () => {
  test("is measured to the sample", () => {
    expect(soundLength(wavFile(12.5))).toEqual({ likely: 12.5, max: 12.5 });
    expect(soundLength(wavFile(3, 44_100))).toEqual({ likely: 3, max: 3 });
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
  ] as const)("with %s is judged by its size", ([, change]) => {
    const file = wavFile(60);
    change(file);
    expect(soundLength(file)).toEqual({ likely: file.length / 4_000, max: file.length / 750 });
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

  test("is not another file that has frames in it", () => {
    const webm = Buffer.concat([Buffer.from([0x1a, 0x45, 0xdf, 0xa3]), mp3File(100)]);
    expect(soundLength(webm).max).toBe(webm.length / 750);
    const tagged = Buffer.concat([Buffer.from("ID3\u0004\0\0\0\0\0\0", "latin1"), webm]);
    expect(soundLength(tagged).max).toBe(tagged.length / 750);
  });

  test("with much that is no frame is judged by its size", () => {
    const file = Buffer.concat([mp3File(10), Buffer.alloc(100_000)]);
    expect(soundLength(file)).toEqual({ likely: file.length / 4_000, max: file.length / 750 });
  });
});

test.for([
  ["Ogg", Buffer.from("OggS"), 4_000, 750],
  ["M4A", Buffer.from("\0\0\0\x20ftypM4A "), 8_000, 1_500],
  ["FLAC", Buffer.from("fLaC"), 16_000, 4_000],
  ["unknown", Buffer.from("what?"), 4_000, 750],
] as const)("%s is judged by its size", ([, mark, usual, least]) => {
  const file = Buffer.concat([mark, Buffer.alloc(120_000 - mark.length)]);
  expect(soundLength(file)).toEqual({ likely: 120_000 / usual, max: 120_000 / least });
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
