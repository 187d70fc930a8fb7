import { expect, test } from "vitest";
import { createHuffmanDecoder } from "../../../../runtime/http2/huffman.ts";

const decode = createHuffmanDecoder();

test.for([
  ["www.example.com", "f1e3c2e5f23a6ba0ab90f4ff"],
  ["no-cache", "a8eb10649cbf"],
  ["custom-value", "25a849e95bb8e8b4bf"],
  ["Mon, 21 Oct 2013 20:13:21 GMT", "d07abe941054d444a8200595040b8166e082a62d1bff"],
  ["https://www.example.com", "9d29ad171863c78f0b97c8e9ae82ae43d3"],
] as const)("%s, as RFC 7541 writes it in its examples", ([text, hex]) => {
  expect(decode(Buffer.from(hex, "hex"))).toBe(text);
});

/** Of RFC 7541, appendix B: the shortest and longest of several lengths. */
test.for([
  [0x00, 0x1ff8, 13],
  [0x0a, 0x3ffffffc, 30],
  [0x20, 0x14, 6],
  [0x21, 0x3f8, 10],
  [0x30, 0x0, 5],
  [0x5c, 0x7fff0, 19],
  [0x7b, 0x7ffe, 15],
  [0x80, 0xfffe6, 20],
  [0xc0, 0x3ffffe0, 26],
  [0xf9, 0xffffffe, 28],
  [0xff, 0x3ffffee, 26],
] as const)("byte %i has its code", ([byte, code, bits]) => {
  const written = code.toString(2).padStart(bits, "0").repeat(3);
  const filled = written.padEnd(Math.ceil(written.length / 8) * 8, "1");
  const bytes = Buffer.from(filled.match(/.{8}/g)?.map((each) => Number.parseInt(each, 2)) ?? []);
  expect(Buffer.from(decode(bytes), "latin1")).toEqual(Buffer.alloc(3, byte));
});

test.for([
  ["padding that is too long", "ffff"],
  ["padding of zeros", "00"],
  ["the end mark", "3fffffff"],
  ["a code that is cut", "fffffe"],
] as const)("%s is no string", ([, hex]) => {
  expect(() => decode(Buffer.from(hex, "hex"))).toThrow("Huffman");
});
