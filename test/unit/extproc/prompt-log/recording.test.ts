import { describe, expect, test } from "vitest";
import { PROMPT_LOG_BYTES } from "../../../../contract/prompt-log.ts";
import { beginRecording, type BegunRequest } from "../../../../extproc/prompt-log/recording.ts";
import { createRecordRoom } from "../../../../extproc/prompt-log/room.ts";
import type { FinishedRecord } from "../../../../extproc/prompt-log/write-queue.ts";
import { parseForm } from "../../../../extproc/protocol/form/form-body.ts";
import { FORM_RULES } from "../../../../extproc/protocol/form/form-rules.ts";
import { parseBody } from "../../../../extproc/protocol/json/parse-body.ts";

const KILOBYTE = 1024;

function open(limits: { maxBytes?: number; maxAccountBytes?: number } = {}) {
  const room = createRecordRoom(limits);
  const records: FinishedRecord[] = [];
  let lost = 0;
  function begin(text: string | Buffer, changes: Partial<BegunRequest> = {}) {
    const begun: BegunRequest = {
      accountId: "acme",
      keyId: "AbCd5678WxYz",
      requestId: "0199aaaa-0000-7000-8000-000000000001",
      startedMs: 1_000,
      interface: "chat",
      isForm: false,
      body: Buffer.from(text),
      ...changes,
    };
    return beginRecording(begun, { room, queue: { add: (record) => void records.push(record) }, onNoRoom: () => (lost += 1) });
  }
  const texts = () =>
    records.map(({ status, isWhole, content: { request, answer } }) => ({
      status,
      isWhole,
      request: request.text.toString(),
      answer: answer?.text.toString() ?? null,
    }));
  return { begin, room, records, texts, lost: () => lost };
}

describe("a record", () => {
  test("has what was sent, the answer and its status", () => {
    const { begin, records } = open();
    const recording = begin('{"model":"m","stream":false}');
    recording?.understood(parseBody(Buffer.from('{"model":"m"}'), { headers: new Map(), interface: "chat" }), "large");
    recording?.answered(200, Buffer.from("fine"));
    recording?.close(false);
    recording?.close(false);
    expect(records).toMatchObject([
      {
        accountId: "acme",
        keyId: "AbCd5678WxYz",
        model: "large",
        isStream: false,
        status: 200,
        isWhole: true,
        startedAt: new Date(1_000),
        content: {
          request: { text: Buffer.from('{"model":"m","stream":false}'), bytes: 28, isCut: false },
          answer: { text: Buffer.from("fine"), bytes: 4, isCut: false },
        },
      },
    ]);
  });

  test("of a stream has its pieces, and what came before it was cut off", () => {
    const { begin, texts } = open();
    const whole = begin("one");
    for (const [piece, isEnd] of [
      ["a", false],
      ["b", false],
      ["c", true],
    ] as const)
      whole?.streamed(Buffer.from(piece), isEnd);
    whole?.close(false);
    const left = begin("two");
    left?.streamed(Buffer.from("a"), false);
    left?.close(true);
    // The client hung up on the last event, before the server's end came.
    const ended = begin("three");
    ended?.streamed(Buffer.from("[DONE]"), false);
    ended?.close(false);
    // An error can replace no answer of which the client has a part.
    const broken = begin("four");
    broken?.streamed(Buffer.from("a"), false);
    broken?.answered(502, Buffer.from("error"));
    broken?.close(true);
    expect(texts()).toEqual([
      { status: 200, isWhole: true, request: "one", answer: "abc" },
      { status: 200, isWhole: false, request: "two", answer: "a" },
      { status: 200, isWhole: true, request: "three", answer: "[DONE]" },
      { status: 200, isWhole: false, request: "four", answer: "a" },
    ]);
  });

  test("of a client that left before its answer has none", () => {
    const { begin, texts } = open();
    begin("hello")?.close(false);
    expect(texts()).toEqual([{ status: null, isWhole: false, request: "hello", answer: null }]);
  });

  test("has notes in place of vectors and sound, and their errors", () => {
    const { begin, texts } = open();
    const vectors = begin("{}", { interface: "embeddings" });
    vectors?.answered(200, Buffer.alloc(2_000, "1"));
    vectors?.close(false);
    const failed = begin("{}", { interface: "embeddings" });
    failed?.answered(400, Buffer.from("no such model"));
    failed?.close(false);
    const sound = begin("{}", { interface: "speech" });
    sound?.played(0);
    sound?.played(62_464);
    sound?.close(false);
    expect(texts().map(({ status, answer }) => [status, answer])).toEqual([
      [200, "[2,000 bytes of vectors, not recorded]"],
      [400, "no such model"],
      [200, "[62,464 bytes of sound, not recorded]"],
    ]);
  });

  test("of a form has its texts, and notes of its files", () => {
    const { begin, records } = open();
    const body = Buffer.from(
      ["--x", 'content-disposition: form-data; name="model"', "", "whisper", "--x"]
        .concat(['content-disposition: form-data; name="file"; filename="a.wav"', "", "RIFF", "--x--", ""])
        .join("\r\n"),
    );
    const recording = begin(body, { interface: "transcription", isForm: true });
    const headers = new Map([["content-type", "multipart/form-data; boundary=x"]]);
    recording?.understood(parseForm(body, headers, FORM_RULES.recording), "whisper");
    recording?.close(false);
    begin(body, { interface: "transcription", isForm: true })?.close(false);
    expect(records.map(({ content }) => [content.request.text.toString(), content.request.bytes])).toEqual([
      ['{"model":"whisper","file":"[4 bytes of a file, not recorded]"}', body.length],
      [`[${body.length} bytes of a form, not recorded]`, body.length],
    ]);
  });
});

describe("memory is bounded", () => {
  test("a request is cut at its end, and an answer where there is no room for more of it", () => {
    const { begin, records } = open();
    const recording = begin("word ".repeat(300_000));
    const piece = Buffer.from("data: word word word\n\n".repeat(1_000));
    for (let sent = 0; sent < 2 * PROMPT_LOG_BYTES.answer; sent += piece.length) recording?.streamed(piece, false);
    recording?.close(true);
    const [record] = records;
    expect(record?.content.request).toMatchObject({ bytes: 1_500_000, isCut: true });
    expect(record?.content.request.text).toHaveLength(PROMPT_LOG_BYTES.request);
    expect(record?.content.answer?.isCut).toBe(true);
    const recorded = record?.content.answer?.text.length ?? 0;
    expect(recorded).toBeLessThanOrEqual(PROMPT_LOG_BYTES.answer);
    expect(recorded).toBeGreaterThan(PROMPT_LOG_BYTES.answer - 2 * piece.length);
  });

  test("an account that takes its share records no more, and others do (S60)", () => {
    const { begin, room, lost } = open({ maxBytes: 100 * KILOBYTE, maxAccountBytes: 40 * KILOBYTE });
    const request = "word ".repeat(2_000);
    const held = [begin(request), begin(request), begin(request)];
    expect(begin(request)).toBeNull();
    expect(begin(request, { accountId: "other" })).not.toBeNull();
    expect(lost()).toBe(1);
    expect(room.bytes).toBeLessThan(100 * KILOBYTE);
    for (const each of held) expect(each).not.toBeNull();
  });

  test("what a record holds is given back, to the last byte", () => {
    const { begin, room, records } = open();
    for (const length of [1, 1_000, 50_000]) {
      const recording = begin("x ".repeat(length));
      for (let piece = 0; piece < 40; piece += 1) recording?.streamed(Buffer.alloc(length, "y "), piece === 39);
      recording?.close(false);
    }
    begin("alone")?.close(false);
    expect(room.bytes).toBeGreaterThan(0);
    for (const record of records) record.room.release();
    for (const record of records) record.room.release();
    expect(room.bytes).toBe(0);
    // A request whose client left while it waited for credit is refused later.
    const late = begin("x");
    late?.close(false);
    records.at(-1)?.room.release();
    late?.answered(402, Buffer.alloc(50_000, "z "));
    late?.streamed(Buffer.alloc(50_000, "z "), true);
    expect(records.at(-1)?.content.answer).toBeNull();
    expect(room.bytes).toBe(0);
  });
});
