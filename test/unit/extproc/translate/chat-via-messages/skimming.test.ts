import * as fc from "fast-check";
import { expect, test } from "vitest";
import { createTranslation } from "../../../../../extproc/translate/choose.ts";
import { inputFor } from "../input.ts";
import { playSkimmed, scrapsOf, type Skimmed } from "../skimmed.ts";

const REQUEST = { model: "m", stream: true, max_tokens: 100, messages: [{ role: "user", content: "hi" }] };

function play(chunks: readonly Buffer[], wantsUsage = false): Skimmed {
  const request = { ...REQUEST, ...(wantsUsage && { stream_options: { include_usage: true } }) };
  const translation = createTranslation("chat", inputFor(request, { upstream: "messages" }));
  return playSkimmed((meter) => translation.stream(meter), chunks);
}

function encode(type: string, members: object, edit = (written: string) => written): Buffer {
  return Buffer.from(`event: ${type}\ndata: ${edit(JSON.stringify({ type, ...members }))}\n\n`);
}

const START = encode("message_start", {
  message: { id: "msg_1", type: "message", role: "assistant", content: [], usage: { input_tokens: 5, output_tokens: 1 } },
});
const FINISH = [
  encode("message_delta", { delta: { stop_reason: "end_turn", stop_sequence: null }, usage: { output_tokens: 9 } }),
  encode("message_stop", {}),
];

function delta(index: number, delta: object, edit?: (written: string) => string): Buffer {
  return encode("content_block_delta", { index, delta }, edit);
}

const index = fc.nat(1);
const CITATION = { type: "web_search_result_location", url: "https://example.com", title: "x", cited_text: "y" };
const piece = fc.oneof(
  {
    weight: 6,
    arbitrary: fc
      .tuple(index, fc.string({ unit: "binary", maxLength: 8 }))
      .map(([at, text]) => delta(at, { type: "text_delta", text })),
  },
  // Written in ways in which JSON.stringify does not write them, and of one to four bytes a character.
  {
    weight: 4,
    arbitrary: fc
      .constantFrom("\\/", "\\u00e9", "\\ud83d\\ude00", "\\u0041", '\\n\\t\\\\\\"', "\u007f\u2028é😀日", "😀😀", "éé")
      .map((text) => delta(0, { type: "text_delta", text: "?" }, (written) => written.replace("?", text))),
  },
  {
    weight: 3,
    arbitrary: fc
      .tuple(
        index,
        fc.boolean(),
        fc.constantFrom<object>(
          { type: "text", text: "" },
          { type: "thinking", thinking: "", signature: "" },
          { type: "redacted_thinking", data: "b3BhcXVl" },
          { type: "tool_use", id: "toolu_1", name: "f", input: {} },
        ),
      )
      .map(([at, isStart, block]) =>
        isStart
          ? encode("content_block_start", { index: at, content_block: block })
          : encode("content_block_stop", { index: at }),
      ),
  },
  {
    weight: 2,
    arbitrary: fc
      .tuple(
        index,
        fc.constantFrom<object>(
          { type: "thinking_delta", thinking: "hm" },
          { type: "signature_delta", signature: "c2ln" },
          { type: "input_json_delta", partial_json: '{"a":1}' },
          { type: "citations_delta", citation: CITATION },
          { type: "unheard_delta", text: "of" },
        ),
      )
      .map(([at, text]) => delta(at, text)),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      encode("ping", {}),
      Buffer.from(": keep-alive\n\n"),
      Buffer.from(
        'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"\xff"}}\n\n',
        "latin1",
      ),
    ),
  },
);

test("pieces of text that pass unread become the same chunks, and are counted the same, as if each had been read", () => {
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 30 }), fc.boolean(), (pieces, wantsUsage) => {
      const chunks = [START, ...pieces, ...FINISH];
      const whole = Buffer.concat(chunks);
      const { passed: _, ...byEvent } = play(chunks, wantsUsage);
      const { passed: __, ...atOnce } = play([whole], wantsUsage);
      const { passed, ...inScraps } = play(scrapsOf(whole), wantsUsage);
      expect(passed).toBe(0);
      expect(byEvent).toEqual(inScraps);
      expect(atOnce).toEqual(inScraps);
    }),
    { numRuns: 300 },
  );
});

test("citations and positions of thinking count text that passed unread", () => {
  const words = ["a ", "é ", "😀 ", "日本 ", '"\n'].map((text) => delta(0, { type: "text_delta", text }));
  const chunks = [
    START,
    encode("content_block_start", { index: 0, content_block: { type: "text", text: "" } }),
    ...words,
    delta(0, { type: "citations_delta", citation: CITATION }),
    encode("content_block_stop", { index: 0 }),
    ...FINISH,
  ];
  const { text, passed } = play(chunks);
  expect(passed).toBeGreaterThan(2);
  expect(text).toContain('"start_index":0,"end_index":12');
});

test("most pieces of a plain stream pass unread, each in its own chunk or all in one", () => {
  const open = encode("content_block_start", { index: 0, content_block: { type: "text", text: "" } });
  const pieces = Array.from({ length: 50 }, (_, at) => delta(0, { type: "text_delta", text: `word ${at} ` }));
  expect(play([START, open, ...pieces, ...FINISH]).passed).toBeGreaterThan(45);
  expect(play([Buffer.concat([START, open, ...pieces, ...FINISH])]).passed).toBe(1);
});
