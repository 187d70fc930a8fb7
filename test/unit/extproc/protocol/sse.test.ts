import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createSseParser, encodeSseEvent, MAX_EVENT_BYTES, type SseEvent } from "../../../../extproc/protocol/sse.ts";

function parse(...chunks: (string | Buffer)[]): SseEvent[] {
  const parser = createSseParser();
  return [...chunks.flatMap((chunk) => parser.push(Buffer.from(chunk))), ...parser.end()];
}

function read(...chunks: (string | Buffer)[]): [string | null, string][] {
  return parse(...chunks).map(({ event, data }) => [event, data]);
}

describe("the content of an event stream", () => {
  test.for([
    ["one event", "event: a\ndata: 1\n\n", [["a", "1"]]],
    ["CRLF", "event: a\r\ndata: 1\r\n\r\n", [["a", "1"]]],
    ["lone CR", "event: a\rdata: 1\r\r", [["a", "1"]]],
    [
      "mixed line ends",
      "data: 1\r\n\ndata: 2\n\r\ndata: 3\r\r\n",
      [
        [null, "1"],
        [null, "2"],
        [null, "3"],
      ],
    ],
    ["data over several lines", "data: 1\ndata: 2\n\n", [[null, "1\n2"]]],
    ["no space behind the colon", "data:[DONE]\n\n", [[null, "[DONE]"]]],
    ["one space only is taken off", "data:  1\n\n", [[null, " 1"]]],
    ["comments are no events", ": keep-alive\n\n:\ndata: 1\n\n", [[null, "1"]]],
    ["a line without a colon is a field name", "data\ndata: 1\n\n", [[null, "\n1"]]],
    ["an event without data is none", "event: ping\n\ndata: 1\n\n", [[null, "1"]]],
    ["id, retry and unknown fields are skipped", "id: 1\nretry: 5\nx: y\ndata: 1\n\n", [[null, "1"]]],
    ["a byte order mark at the start is skipped", "\u{FEFF}data: 1\n\n", [[null, "1"]]],
    ["a byte order mark elsewhere is text", "data: 0\n\n\u{FEFF}data: 1\n\n", [[null, "0"]]],
    ["a Unicode line separator ends no line", 'data: "\u2028\u2029\u0085"\n\n', [[null, '"\u2028\u2029\u0085"']]],
    ["a last event without its blank line counts when it is whole JSON", 'data: {"a":1}', [[null, '{"a":1}']]],
    ["so does [DONE]", "data: [DONE]\n", [[null, "[DONE]"]]],
    ["half an event at the end counts for nothing", 'data: {"a":', []],
    ["nothing", "", []],
  ] as const)("%s", ([, text, expected]) => {
    expect(read(text)).toEqual(expected);
  });
});

test.for(["\n", "\r", "\r\n", "\n\r", ": c\n", ":\r\n\r\n"])("a flood of %j between events is not an event", (line) => {
  const parser = createSseParser();
  const flood = line.repeat(1_000);
  const events = ["data: 1\n\n", flood, flood, "data: 2\n\n", flood].flatMap((text) => parser.push(Buffer.from(text)));
  expect(events.map(({ data }) => data)).toEqual(["1", "2"]);
  expect(parser.end()).toEqual([]);
  expect(parser.comments()).toBe(line.startsWith(":") ? 3_000 : 0);
});

test("an LF at the start of a chunk ends its own line, though a CR ended one in the chunk before", () => {
  expect(read("data: 1\rdata: 2", "\n\n")).toEqual([[null, "1\n2"]]);
});

test("the same bytes give the same events however they are split", () => {
  const line = fc.oneof(
    fc.constantFrom("data: é😀", "data:", ": c", "event: a", "", "data: x", "\u{FEFF}data: y", "data: [DONE]"),
    fc.string({ unit: "grapheme" }).map((text) => `data: ${text.replaceAll(/[\r\n]/g, "")}`),
  );
  const stream = fc.array(fc.tuple(line, fc.constantFrom("\n", "\r\n", "\r")), { maxLength: 12 });
  fc.assert(
    fc.property(stream, fc.array(fc.nat(300), { maxLength: 6 }), (lines, cuts) => {
      const bytes = Buffer.from(lines.map((pair) => pair.join("")).join(""));
      const offsets = [0, ...cuts.filter((cut) => cut < bytes.length).sort((a, b) => a - b), bytes.length];
      const chunks = offsets.slice(1).map((end, index) => bytes.subarray(offsets[index], end));
      expect(parse(...chunks)).toEqual(parse(bytes));
    }),
    { numRuns: 2000 },
  );
});

test("the ranges of events and their data point at the bytes they came from", () => {
  const bytes = Buffer.from('\u{FEFF}: é\r\n\r\nevent: a\r\ndata: {"é":1}\r\n\r\ndata:2\n\n');
  const [first, second] = parse(bytes);
  expect([first, second].map((event) => bytes.toString("utf8", event?.dataRange?.start, event?.dataRange?.end))).toEqual([
    '{"é":1}',
    "2",
  ]);
  expect(bytes.toString("utf8", first?.start, first?.end)).toBe('event: a\r\ndata: {"é":1}\r\n\r');
  expect(bytes.toString("utf8", second?.start, second?.end)).toBe("data:2\n\n");
});

test("settled bytes end after a blank line, and include the LF of its CR LF when it arrives", () => {
  const parser = createSseParser();
  parser.push(Buffer.from("data: 1\r\n\r"));
  expect(parser.settled()).toBe(10);
  parser.push(Buffer.from("\n: c\n"));
  expect(parser.settled()).toBe(11);
  expect(parser.comments()).toBe(1);
});

test("an event survives writing and reading", () => {
  const name = fc.option(fc.constantFrom("error", "ping"));
  fc.assert(
    fc.property(name, fc.string({ unit: "grapheme", minLength: 1 }), (event, data) => {
      // Data holds line breaks as LF; the format has no other way.
      const plain = data.replaceAll(/\r\n|\r/g, "\n");
      expect(read(`${encodeSseEvent(event, plain)}data: {}\n\n`)).toEqual([
        ...(plain === "" ? [] : [[event, plain]]),
        [null, "{}"],
      ]);
    }),
  );
});

describe("time and memory", () => {
  test("a line of 16 MB is read in one pass, in chunks of 64 KiB and of one byte", () => {
    const data = "x".repeat(16 * 1024 * 1024);
    const bytes = Buffer.from(`data: ${data}\n\n`);
    const chunks = Array.from({ length: Math.ceil(bytes.length / 65_536) }, (_, index) =>
      bytes.subarray(index * 65_536, (index + 1) * 65_536),
    );
    expect(read(...chunks)).toEqual([[null, data]]);

    const parser = createSseParser();
    const tail = bytes.subarray(0, 2_000_000);
    // A parser that searched or copied all it holds at each chunk would take longer than any test may.
    for (let at = 0; at < tail.length; at += 1) parser.push(tail.subarray(at, at + 1));
  });

  test("one event of more than 32 MiB is an upstream error", () => {
    const parser = createSseParser();
    const chunk = Buffer.alloc(1024 * 1024, "x");
    parser.push(Buffer.from("data: "));
    expect(() => {
      for (let size = 0; size <= MAX_EVENT_BYTES; size += chunk.length) parser.push(chunk);
    }).toThrow(expect.objectContaining({ code: "upstream_error" }));
  });

  test("many lines of one event count together", () => {
    const parser = createSseParser();
    const lines = Buffer.from("data: 0123456789\n".repeat(60_000));
    expect(() => {
      for (let size = 0; size <= MAX_EVENT_BYTES; size += lines.length) parser.push(lines);
    }).toThrow(expect.objectContaining({ code: "upstream_error" }));
  });
});
