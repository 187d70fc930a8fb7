import * as fc from "fast-check";
import { expect, test } from "vitest";
import { chunk, PLAIN, translate } from "./chat.ts";
import { playSkimmed, scrapsOf } from "../skimmed.ts";

const play = (chunks: readonly Buffer[]) => playSkimmed((meter) => translate({ ...PLAIN, stream: true }).stream(meter), chunks);

function encode(event: object, written = JSON.stringify(event)): Buffer {
  return Buffer.from(`data: ${written}\n\n`);
}

const piece = fc.oneof(
  fc.string({ unit: "binary", maxLength: 8 }).map((content) => encode(chunk({ content }))),
  // Written in ways in which JSON.stringify does not write them.
  fc
    .constantFrom("\\/", "\\u00e9", "\\ud83d\\ude00", "\\u0041", '\\n\\t\\\\\\"', "\u007f\u2028é😀")
    .map((text) => encode({}, JSON.stringify(chunk({ content: "?" })).replace("?", text))),
  fc.constantFrom(
    encode(chunk({ reasoning_content: "hm" })),
    encode(chunk({ refusal: "no" })),
    encode(chunk({ tool_calls: [{ index: 0, id: "c", function: { name: "f", arguments: '{"a":1}' } }] })),
    Buffer.from(": keep-alive\n\n"),
    Buffer.from(
      'data: {"id":"chatcmpl-1","choices":[{"index":0,"delta":{"content":"\xff"},"finish_reason":null}]}\n\n',
      "latin1",
    ),
  ),
);

const FINISH = [
  encode({ ...chunk({}), choices: [{ index: 0, delta: {}, finish_reason: "stop" }] }),
  Buffer.from("data: [DONE]\n\n"),
];

test("pieces of text that pass unread become the same events, and are counted the same, as if each had been read", () => {
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
      const chunks = [...pieces, ...FINISH];
      const whole = Buffer.concat(chunks);
      const { passed: _, ...byEvent } = play(chunks);
      const { passed: __, ...atOnce } = play([whole]);
      const { passed, ...inScraps } = play(scrapsOf(whole));
      expect(passed).toBe(0);
      expect(byEvent).toEqual(inScraps);
      expect(atOnce).toEqual(inScraps);
    }),
    { numRuns: 300 },
  );
});

test("most pieces of a plain stream pass unread, each in its own chunk or all in one", () => {
  const pieces = Array.from({ length: 50 }, (_, index) => encode(chunk({ content: `word ${index} ` })));
  expect(play([...pieces, ...FINISH]).passed).toBeGreaterThan(45);
  expect(play([Buffer.concat([...pieces, ...FINISH])]).passed).toBe(1);
});
