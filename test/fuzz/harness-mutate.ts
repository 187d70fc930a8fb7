import { below, pick, type Random } from "../support/random.ts";

/** Bytes that parsers trip over, by what they are part of. */
const TOKENS = [
  ["\r\n", "\n", "\r", "\0", "\t", " ", ":", "\r\n\r\n", "\uFEFF", "\u2028", "é", "\xff\xfe"],
  ["{", "}", "[", "]", '"', "\\", "\\u0000", "\\ud800", "null", "true", "-0", "1e999", "9007199254740993", "[".repeat(200)],
  ["data:", "data: [DONE]\n\n", "event: error\n", "id: 1\n", ":\n\n", "retry: 0\n", "event: message_stop\ndata: {}\n\n"],
  ["content-length: 0\r\n", "content-length: -1\r\n", "transfer-encoding: chunked\r\n", "connection: upgrade\r\n", "0\r\n\r\n"],
  ["x-gateway-backend: any\r\n", "x-envoy-original-path: /\r\n", "host:\r\n", "expect: 100-continue\r\n", "GET /", "HTTP/9.9"],
  ["/../", "%2e%2e/", "%00", "//", "?", "#", ";", "%", "*"],
]
  .flat()
  .map((token) => Buffer.from(token, "latin1"));

type Change = (bytes: Buffer, random: Random) => Buffer;

const CHANGES: readonly Change[] = [
  function flipBit(bytes, random) {
    const changed = Buffer.from(bytes);
    const at = below(random, changed.length);
    changed[at] = (changed[at] ?? 0) ^ (1 << below(random, 8));
    return changed;
  },
  function setByte(bytes, random) {
    const changed = Buffer.from(bytes);
    changed[below(random, changed.length)] = below(random, 256);
    return changed;
  },
  function cutOut(bytes, random) {
    const [from, to] = range(bytes, random, 40);
    return Buffer.concat([bytes.subarray(0, from), bytes.subarray(to)]);
  },
  function repeat(bytes, random) {
    const [from, to] = range(bytes, random, 200);
    const piece = bytes.subarray(from, to);
    return Buffer.concat([
      bytes.subarray(0, to),
      ...Array.from({ length: 1 + below(random, 8) }, () => piece),
      bytes.subarray(to),
    ]);
  },
  function insertToken(bytes, random) {
    const at = below(random, bytes.length + 1);
    return Buffer.concat([bytes.subarray(0, at), pick(random, TOKENS), bytes.subarray(at)]);
  },
  function replaceByToken(bytes, random) {
    const [from, to] = range(bytes, random, 12);
    return Buffer.concat([bytes.subarray(0, from), pick(random, TOKENS), bytes.subarray(to)]);
  },
  function moveOn(bytes, random) {
    const [from, to] = range(bytes, random, 60);
    return Buffer.concat([bytes.subarray(0, from), bytes.subarray(to), bytes.subarray(from, to)]);
  },
  function endEarly(bytes, random) {
    return bytes.subarray(0, below(random, bytes.length));
  },
];

/** One to four changes of a good example; sometimes its second half is another example's. */
export function mutate(random: Random, corpus: readonly Buffer[]): Buffer {
  let bytes = pick(random, corpus);
  if (random() < 0.15) {
    const other = pick(random, corpus);
    bytes = Buffer.concat([bytes.subarray(0, below(random, bytes.length)), other.subarray(below(random, other.length))]);
  }
  const changes = 1 + below(random, 4);
  for (let change = 0; change < changes && bytes.length > 0; change++) bytes = pick(random, CHANGES)(bytes, random);
  return bytes;
}

function range(bytes: Buffer, random: Random, most: number): [from: number, to: number] {
  const from = below(random, bytes.length);
  return [from, Math.min(bytes.length, from + 1 + below(random, most))];
}
