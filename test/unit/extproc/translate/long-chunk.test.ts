import { afterEach, expect, test, vi } from "vitest";
import { createMeter } from "../../../../extproc/meter/meter.ts";
import { createTranslation } from "../../../../extproc/translate/choose.ts";
import { inputFor } from "./input.ts";

afterEach(() => {
  vi.restoreAllMocks();
});

const REQUEST = { model: "modelx-v4-pro", max_tokens: 500, stream: true, messages: [{ role: "user", content: "hi" }] };
const WORDS = Array.from({ length: 200 }, (_, index) => `wörd ${index} `);
const HEAD = chatChunk({ role: "assistant", content: "" });
const TEXTS = WORDS.map((content) => chatChunk({ content }));
const REASONING = WORDS.map((text) => chatChunk({ reasoning_content: text }));
const TAIL = [chatChunk({}, "stop"), "data: [DONE]\n\n"];

function chatChunk(delta: object, finish: string | null = null): string {
  const choice = { index: 0, delta, finish_reason: finish };
  return `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", choices: [choice] })}\n\n`;
}

/** What a messages client gets from a chat server, how much of it was counted, and how often JSON was parsed. */
function run(chunks: readonly string[]) {
  const meter = createMeter(1);
  const stream = createTranslation("messages", inputFor(REQUEST, { upstream: "chat" })).stream(meter);
  const parse = vi.spyOn(JSON, "parse");
  const output = chunks.map((chunk) => String(stream.push(Buffer.from(chunk)))).join("") + String(stream.end());
  const parsed = parse.mock.calls.length;
  parse.mockRestore();
  return { output, counted: meter.outputBytes(), parsed };
}

test("of many texts in one chunk few are parsed", () => {
  const events = [HEAD, ...TEXTS, ...TAIL];
  const { parsed, ...atOnce } = run([events.join("")]);
  expect(run(events)).toMatchObject(atOnce);
  expect(atOnce.output).toContain("wörd 199");
  expect(parsed).toBeLessThan(WORDS.length / 4);
});

test("text is skimmed after reasoning as well, and the client gets the same", () => {
  const events = [HEAD, ...REASONING, ...TEXTS, ...TAIL];
  const { parsed, ...inThree } = run([
    HEAD + REASONING.join(""),
    TEXTS.slice(0, 3).join(""),
    [...TEXTS.slice(3), ...TAIL].join(""),
  ]);
  expect(run(events)).toMatchObject(inThree);
  expect(parsed).toBeLessThan(WORDS.length + WORDS.length / 4);
});
