import { describe, expect, test } from "vitest";
import type { Dialect } from "../../../../../contract/protocol.ts";
import { createMeter } from "../../../../../extproc/meter/meter.ts";
import { createTranslation } from "../../../../../extproc/translate/choose.ts";
import { inputFor } from "../input.ts";

const CHAT = { model: "m", stream: true, messages: [{ role: "user", content: "hi" }] };
const REQUESTS = { chat: CHAT, messages: { ...CHAT, max_tokens: 100 } };

function play(protocol: Dialect, chunks: readonly string[], request: object = {}) {
  const input = inputFor({ ...REQUESTS[protocol], ...request }, { upstream: protocol, upstreamModel: "m" });
  const meter = createMeter(10);
  const machine = createTranslation(protocol, input).stream(meter);
  let text = "";
  machine.push(Buffer.from(STARTS[protocol]));
  for (const chunk of chunks) {
    const pushed = machine.push(Buffer.from(chunk));
    text += pushed === "unchanged" ? chunk : pushed.toString();
  }
  text += machine.end().toString();
  return { text, outcome: machine.outcome(), outputBytes: meter.outputBytes() };
}

const HEAD = { id: "c", object: "chat.completion.chunk", created: 1, model: "m" };
const STARTS = {
  chat: `data: ${JSON.stringify({ ...HEAD, choices: [{ index: 0, delta: { role: "assistant" }, finish_reason: null }] })}\n\n`,
  messages: `data: ${JSON.stringify({ type: "message_start", message: {} })}\n\ndata: ${JSON.stringify({ type: "content_block_start", index: 0, content_block: { type: "text", text: "" } })}\n\n`,
} as const;

const chunk = (content: string, index = 0, finish: string | null = null) =>
  `data: ${JSON.stringify({ ...HEAD, choices: [{ index, delta: { content }, finish_reason: finish }] })}\n\n`;
const DONE = "data: [DONE]\n\n";
const delta = (text: string) =>
  `event: content_block_delta\ndata: ${JSON.stringify({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text } })}\n\n`;

describe.for<[Dialect, string]>([
  ["chat", chunk("one")],
  ["messages", delta("one")],
])("a stream of %s with content that the meter cannot read (S38)", ([protocol, piece]) => {
  test.for(["words for nobody to count", "{", "[]", '["words"]', '"words"', "null", "5", "[DONE] words", "words\ndata: words"])(
    "ends with an error at data of %s; earlier output is delivered, later output is not",
    (data) => {
      for (const chunks of [[piece, `data: ${data}\n\n`, piece], [`${piece}data: ${data}\n\n${piece}`]]) {
        const { text, outcome, outputBytes } = play(protocol, chunks);
        expect(outcome).toBe("failed");
        expect(text.startsWith(piece)).toBe(true);
        expect(text.slice(piece.length)).toMatch(/^(event: error\n)?data: \{.*not a JSON object.*\}\n(event: error\n)?\n$/);
        expect(outputBytes).toBe(3);
      }
    },
  );

  test.for<[string, (at: number) => string]>([
    ["comments", (at) => `: words ${at}\n\n`],
    ["comments inside events", (at) => `: words ${at}\n${piece}`],
    ["ids", (at) => `id: words ${at}\n${piece}`],
    ["times to reconnect", (at) => `retry: words ${at}\n\n`],
    ["fields that the format has not", (at) => `words ${at}\n${piece}`],
    ["names of events", (at) => `event: words ${at}\n${piece}`],
    ["long names of events", (at) => `event: words ${at}${"x".repeat(100)}\n\n`],
    ["one long comment", (at) => (at === 0 ? `: words ${"words ".repeat(8_000)}\n\n` : piece)],
    ["CR LF", (at) => `: words ${at}\r\n${piece.replaceAll("\n", "\r\n")}`],
  ])("passes no more than 4 KiB of %s, and every event", ([, bytes]) => {
    const all = Array.from({ length: 2_000 }, (_, at) => bytes(at));
    for (const chunks of [all, [all.join("")]]) {
      const { text } = play(protocol, chunks);
      expect(text.length - text.replaceAll(/words/g, "").length).toBeLessThan(5 * 1_024);
      const events = (stream: string) =>
        stream.split(/\r?\n/).filter((line) => line.startsWith("data: ") && line.includes("one"));
      expect(events(text)).toEqual(events(all.join("")));
    }
  });

  test("keeps a few comments and ids unchanged", () => {
    const stream = `: keep-alive\n\nid: 1\n${piece}: keep-alive\r\n\r\n${piece}`;
    expect(play(protocol, [stream]).text.startsWith(stream)).toBe(true);
  });
});

describe("a stream of several answers", () => {
  const streamed = (chunks: readonly string[], n = 2) => play("chat", chunks, { n }).outcome;

  test("that breaks after the first answer's finish is truncated (S22)", () => {
    expect(streamed([chunk("a"), chunk("", 0, "stop")])).toBe("truncated");
    expect(streamed([chunk("a"), chunk("", 0, "stop"), chunk("b", 1)])).toBe("truncated");
    expect(streamed([chunk("a"), chunk("", 0, "stop"), chunk("", 0, "stop")])).toBe("truncated");
  });

  test("is complete once each has finished", () => {
    expect(streamed([chunk("a"), chunk("b", 1), chunk("", 1, "length"), chunk("", 0, "stop")])).toBe("complete");
    expect(streamed([chunk("a"), chunk("", 0, "stop")], 1)).toBe("complete");
  });

  test("with fewer answers from the server is complete when it says so", () => {
    const usage = `data: ${JSON.stringify({ choices: [], usage: { prompt_tokens: 1, completion_tokens: 1 } })}\n\n`;
    expect(streamed([chunk("a"), chunk("", 0, "stop"), DONE])).toBe("complete");
    expect(streamed([chunk("a"), chunk("", 0, "stop"), usage])).toBe("complete");
    expect(streamed([chunk("a"), chunk("b", 1), chunk("", 0, "stop"), usage])).toBe("truncated");
  });

  test("that nobody requested and that breaks after the first finish is not an answer", () => {
    const input = inputFor({ ...CHAT, stream: false, n: 2 }, { upstream: "chat", upstreamModel: "m" });
    const response = (body: string) => createTranslation("chat", input).response(Buffer.from(body), createMeter(1)).toString();
    expect(() => response(chunk("a") + chunk("", 0, "stop") + chunk("b", 1))).toThrow("stopped in the middle");
    expect(JSON.parse(response(chunk("a", 0, "stop") + chunk("b", 1, "stop")))).toMatchObject({
      choices: [{ message: { content: "a" } }, { message: { content: "b" } }],
    });
  });
});

test.for<[Dialect, object]>([
  ["chat", { error: { message: "words ".repeat(8_000) } }],
  ["messages", { type: "error", error: { type: "api_error", message: "words ".repeat(8_000) } }],
  ["messages", { error: { message: "words ".repeat(8_000) } }],
])("a stream of %s shows none of the texts of its errors, and counts none (S38)", ([protocol, error]) => {
  // Each is another text: repeated ones are counted once in any case.
  const events = (count: number) =>
    Array.from(
      { length: count },
      (_, at) =>
        `data: ${JSON.stringify({ ...error, note: `${"more ".repeat(100)}${at}` }).replaceAll("words", `words${at}`)}\n\n`,
    );
  const { text, outputBytes } = play(protocol, events(10));
  expect(outputBytes).toBe(0);
  expect(text).not.toMatch(/words|more more/);
  expect(text.match(/^event: error$/gm)).toHaveLength(1);
});
