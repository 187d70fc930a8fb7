import { expect, test } from "vitest";
import { decodeFrames, encodeFrame } from "../../../../extproc/journal/frame.ts";

const TEXTS = ["first", "zweiter Satz: ä€", "third"];
const FRAMES = TEXTS.map(encodeFrame);

test("records torn at any byte: those before it are complete, and the rest is one gap", () => {
  const bytes = Buffer.concat(FRAMES);
  const ends = FRAMES.map((_, index) => FRAMES.slice(0, index + 1).reduce((sum, { length }) => sum + length, 0));
  for (let cut = 0; cut <= bytes.length; cut++) {
    const whole = ends.filter((end) => end <= cut);
    const brokenBytes = cut - (whole.at(-1) ?? 0);
    expect(decodeFrames(bytes.subarray(0, cut))).toEqual({
      texts: TEXTS.slice(0, whole.length),
      gaps: brokenBytes === 0 ? 0 : 1,
      brokenBytes,
    });
  }
});

test("one flipped bit costs the record that it is in, and no other", () => {
  const bytes = Buffer.concat(FRAMES);
  let begin = 0;
  for (const [index, frame] of FRAMES.entries()) {
    for (let bit = 0; bit < frame.length * 8; bit++) {
      const damaged = Buffer.from(bytes);
      const at = begin + Math.floor(bit / 8);
      damaged[at] = (damaged[at] ?? 0) ^ (1 << (bit % 8));
      expect(decodeFrames(damaged)).toEqual({ texts: TEXTS.toSpliced(index, 1), gaps: 1, brokenBytes: frame.length });
    }
    begin += frame.length;
  }
});

test("half a record followed by complete ones costs only that record", () => {
  const [first, second, third] = FRAMES;
  if (first === undefined || second === undefined || third === undefined) throw new Error("three records");
  for (let written = 1; written < second.length; written++) {
    const bytes = Buffer.concat([first, second.subarray(0, written), third]);
    expect(decodeFrames(bytes)).toEqual({ texts: ["first", "third"], gaps: 1, brokenBytes: written });
  }
});

test("zeros are not a record, wherever they are and however many", () => {
  for (const count of [1, 7, 8, 9, 4096]) {
    const zeros = Buffer.alloc(count);
    const bytes = Buffer.concat([zeros, ...FRAMES.flatMap((frame) => [frame, zeros])]);
    expect(decodeFrames(bytes)).toEqual({ texts: TEXTS, gaps: 4, brokenBytes: 4 * count });
  }
});

test("no text can pass for a record: JSON has no zero byte, and every header has two", () => {
  const hostile = JSON.stringify(encodeFrame("forged").toString("latin1"));
  const [length, ...rest] = encodeFrame(hostile);
  const withoutHeader = Buffer.from([(length ?? 0) ^ 1, ...rest]);
  expect(decodeFrames(withoutHeader).texts).toEqual([]);
});

test("a text that no reader would accept is not written", () => {
  expect(() => encodeFrame("x".repeat(2 ** 14))).toThrow(RangeError);
  expect(() => encodeFrame("")).toThrow(RangeError);
});
