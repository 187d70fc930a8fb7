import { expect, test } from "vitest";
import { isText } from "../../../../../extproc/protocol/sound/text.ts";

const bytes = (...parts: (string | number[])[]) =>
  Buffer.concat(parts.map((part) => (typeof part === "string" ? Buffer.from(part, "latin1") : Buffer.from(part))));

test.for<[string, Buffer]>([
  ["WAV", bytes("RIFF", [0x24, 0x08, 0, 0], "WAVEfmt ")],
  ["WAV of unknown length", bytes("RIFF", [0xff, 0xff, 0xff, 0xff], "WAVEfmt ")],
  [
    "MP3",
    bytes(
      [0xff, 0xfb, 0x90, 0x64],
      Array.from({ length: 12 }, () => 0),
    ),
  ],
  ["MP3 with a tag", bytes("ID3", [4, 0, 0, 0, 0, 0, 0x22], "TSSE", [0, 0])],
  ["Ogg", bytes("OggS", [0, 2, 0, 0, 0, 0, 0, 0, 0, 0], "ab")],
  ["FLAC", bytes("fLaC", [0, 0, 0, 0x22], "        ")],
  ["AAC", bytes([0xff, 0xf1, 0x50, 0x80], "abcdefghijkl")],
  ["WebM", bytes([0x1a, 0x45, 0xdf, 0xa3], "abcdefghijkl")],
  ["MP4", bytes([0, 0, 0, 0x20], "ftypM4A isom")],
  ["silent samples", Buffer.alloc(16)],
  ["samples", Buffer.from(Int16Array.from([3, -2, 40, 60, -9, 120, 7_000, -31_000]).buffer)],
  ["nothing", Buffer.alloc(0)],
])("%s is no text", ([, lead]) => {
  expect(isText(lead)).toBe(false);
});

test.for(['{"error":"x"}   ', ' [{"error": "x"}]', "Internal Server Error", "<?xml version=1?>", "no", '{"msg":"音声を"'])(
  "%s is text",
  (text) => {
    expect(isText(Buffer.from(text))).toBe(true);
  },
);
