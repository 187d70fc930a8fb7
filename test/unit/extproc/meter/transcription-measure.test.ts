import { describe, expect, test } from "vitest";
import { sizeInput } from "../../../../extproc/meter/input-size.ts";
import { parseForm } from "../../../../extproc/protocol/form/form-body.ts";
import { FORM_RULES } from "../../../../extproc/protocol/form/form-rules.ts";
import { createTranslation } from "../../../../extproc/translate/choose.ts";
import type { StreamTranslation } from "../../../../extproc/translate/translation.ts";
import { chargeNanoUsd, parsePricePerMinute, type Price } from "../../../../ledger/money.ts";
import { pricePerMinute } from "../../../../dashboard/money.ts";
import { BOUNDARY, formHeaders, wavFile, writeForm, type FormPart } from "../../../support/dashboard/forms.ts";
import { catalogueModel } from "../../../support/billing/ledger.ts";

/** What transcriptions cost (S54). */
const NO_PRICE: Price = {
  inputPicoUsd: 0n,
  cachedInputPicoUsd: 0n,
  cacheWritePicoUsd: 0n,
  outputPicoUsd: 0n,
  unitPicoUsd: 0n,
};
const BY_MINUTE: Price = { ...NO_PRICE, unitPicoUsd: parsePricePerMinute("0.006") };
const BY_TOKENS: Price = { ...NO_PRICE, inputPicoUsd: 6_000_000n, outputPicoUsd: 10_000_000n };

const EXACT = wavFile(90, 1_000);
/** Ogg: 120 seconds at a usual rate, 640 at the least. */
const COMPRESSED = Buffer.concat([Buffer.from("OggS"), Buffer.alloc(480_000 - 4)]);

function parse(file: Buffer, fields: readonly FormPart[] = []) {
  const form = writeForm([["model", "m"], ["file", { filename: "a", bytes: file }], ...fields]);
  return parseForm(form, formHeaders(), FORM_RULES.recording);
}

interface Asked {
  file?: Buffer;
  fields?: readonly FormPart[];
  price?: Price;
}

function sizeOf({ file = EXACT, fields = [], price = BY_MINUTE }: Asked) {
  const model = { contextWindow: null, maxOutputTokens: 4_096, price };
  return sizeInput(parse(file, fields), { client: "transcription", model });
}

function translate(fields: readonly FormPart[] = [], path = "/v1/audio/transcriptions") {
  const body = parse(EXACT, fields);
  const model = catalogueModel("m", { interfaces: ["transcription"] });
  const backend = model.backends[0];
  if (backend === undefined) throw new Error("a model has a backend");
  return createTranslation("transcription", {
    body,
    headers: new Map([...formHeaders(), [":path", path]]),
    model,
    backend: { ...backend, protocol: "chat", upstreamModel: "inner" },
    outputTokens: 0,
    requestId: "0192d4e5-0000-7000-8000-000000000000",
    nowSeconds: 0,
  });
}

/** As the run charges it, after a complete answer. */
function chargeFor(answer: string | object, asked: Asked = {}) {
  const meter = sizeOf(asked).meter(0);
  translate(asked.fields).response(Buffer.from(typeof answer === "string" ? answer : JSON.stringify(answer)), meter);
  const { usage, isEstimated } = meter.final();
  return {
    seconds: usage.units,
    isEstimated,
    anomalies: meter.anomalies(),
    nanoUsd: chargeNanoUsd(usage, asked.price ?? BY_MINUTE),
    usage,
  };
}

const TEXT = "Good morning.";
const text = (format: string): FormPart[] => [["response_format", format]];

describe("seconds of audio", () => {
  test.for([
    ["the usage by time", { text: TEXT, usage: { type: "duration", seconds: 89 } }, 89],
    ["a fraction, rounded up", { text: TEXT, usage: { type: "duration", seconds: 88.2 } }, 89],
    ["the recording's duration", { text: TEXT, duration: 89.5, segments: [] }, 90],
    ["a duration written as a text", { text: TEXT, duration: "89.01" }, 90],
    ["the usage rather than the duration", { text: TEXT, duration: 40, usage: { seconds: 60 } }, 60],
  ] as const)("are those that the server reports: %s", ([, answer, seconds]) => {
    expect(chargeFor(answer)).toMatchObject({ seconds, isEstimated: false, nanoUsd: BigInt(seconds) * 100_000n });
  });

  test.for([
    ["nothing", { text: TEXT }, []],
    ["zero", { text: TEXT, usage: { seconds: 0 } }, ["empty"]],
    ["what is no number", { text: TEXT, usage: { seconds: "long" } }, ["impossible"]],
    ["less than zero", { text: TEXT, duration: -5 }, ["impossible"]],
  ] as const)("are the gateway's own count if it reports %s", ([, answer, anomalies]) => {
    expect(chargeFor(answer)).toMatchObject({ seconds: 90, isEstimated: true, anomalies, nanoUsd: 9_000_000n });
    expect(chargeFor(answer, { file: COMPRESSED })).toMatchObject({ seconds: 120, isEstimated: true });
  });

  test.for([
    ["text", "Good morning.\n", 90, true],
    ["text", "Say: 00:00:00.000 --> 00:00:01.000\n", 90, true],
    ["srt", "1\n00:00:00,000 --> 00:00:04,500\nGood\n\n2\n00:00:04,500 --> 00:01:30,501\nmorning.\n", 91, false],
    ["vtt", "WEBVTT\n\n00:00.000 --> 01:31.000\nGood morning.\n", 91, false],
    ["vtt", "WEBVTT\n\n", 90, true],
    ["srt", "1\n00:00:00,000 --> soon\nGood morning.\n", 90, true],
  ] as const)("of %s are those of its last line, or our own count", ([format, answer, seconds, isEstimated]) => {
    expect(chargeFor(answer, { fields: text(format) })).toMatchObject({ seconds, isEstimated });
  });

  test.for([
    ["srt", "1\n00:00:00,000 --> 00:00:04,500\nGood morning.\n", 5],
    ["vtt", "WEBVTT\n\n00:00.000 --> 01:02.000\nGood morning.\n", 62],
  ] as const)("of %s do not end with the last line if a WAV or MP3 goes on in silence", ([format, answer, shown]) => {
    expect(chargeFor(answer, { fields: text(format) })).toMatchObject({ seconds: 90, isEstimated: false });
    expect(chargeFor(answer, { fields: text(format), file: COMPRESSED })).toMatchObject({ seconds: shown, isEstimated: false });
  });

  test("of a report above the hold are those of the hold, which is flagged (S30)", () => {
    const { hold } = sizeOf({});
    const charged = chargeFor({ text: TEXT, usage: { seconds: 36_000 } });
    expect(charged).toMatchObject({ seconds: 92, anomalies: ["over_limit"], nanoUsd: 9_200_000n });
    expect(hold.fullNanoUsd).toBe(charged.nanoUsd);
    expect(sizeOf({ file: COMPRESSED }).hold.fullNanoUsd).toBe(642n * 100_000n);
  });

  test.for(["json", "text", "srt", "vtt", "verbose_json"])(
    "never cost more than the hold, whatever a server answers in %s",
    (format) => {
      for (const file of [EXACT, COMPRESSED, Buffer.from("x")])
        for (const answer of [
          '{"text":"a","duration":1e12}',
          '{"text":"a","usage":{"seconds":1e300}}',
          '{"text":"a","usage":{"seconds":9007199254740993}}',
        ]) {
          const asked = { file, fields: text(format) };
          expect(chargeFor(answer, asked).nanoUsd).toBeLessThanOrEqual(sizeOf(asked).hold.fullNanoUsd);
        }
      expect(chargeFor("WEBVTT\n\n00:00.000 --> 9999:59:59.000\na\n", { fields: text("vtt") }).nanoUsd).toBe(9_200_000n);
    },
  );

  test("of less than a second are one", () => {
    expect(chargeFor({ text: TEXT }, { file: wavFile(0.2) })).toMatchObject({ seconds: 1 });
  });
});

describe("tokens", () => {
  const usage = {
    type: "tokens",
    input_tokens: 900,
    input_token_details: { audio_tokens: 890, text_tokens: 10 },
    output_tokens: 40,
  };

  test("are charged as reported", () => {
    expect(chargeFor({ text: TEXT, usage }, { price: BY_TOKENS })).toMatchObject({
      isEstimated: false,
      usage: { inputTokens: 900, outputTokens: 40 },
      nanoUsd: 5_800_000n,
    });
  });

  test("are our own count if they are not reported, or not possible", () => {
    const own = { isEstimated: true, usage: { inputTokens: 901, outputTokens: 4 } };
    expect(chargeFor({ text: TEXT }, { price: BY_TOKENS })).toMatchObject(own);
    expect(chargeFor({ text: TEXT, usage: { input_tokens: 1e9, output_tokens: 3 } }, { price: BY_TOKENS })).toMatchObject({
      usage: { inputTokens: 901 },
      anomalies: ["impossible"],
    });
  });

  test("are held at the most that a server counts", () => {
    const { hold } = sizeOf({ price: BY_TOKENS });
    const most = chargeFor({ text: TEXT, usage: { input_tokens: 92 * 32, output_tokens: 5_000 } }, { price: BY_TOKENS });
    expect(most.nanoUsd).toBeLessThanOrEqual(hold.fullNanoUsd);
    // A minute and a half holds less than three cents.
    expect(hold.fullNanoUsd).toBeLessThan(30_000_000n);
  });

  test("do not make a request estimated if minutes alone are charged", () => {
    expect(chargeFor({ text: TEXT, usage: { type: "duration", seconds: 90 } }).isEstimated).toBe(false);
  });
});

describe("the request on its way to the server", () => {
  test("keeps its boundary, and goes to the endpoint that was asked for", () => {
    const { upstream } = translate();
    expect(upstream).toMatchObject({
      path: "/audio/transcriptions",
      headers: { "content-type": `multipart/form-data; boundary=${BOUNDARY}` },
    });
    expect(
      upstream.body.equals(
        writeForm([
          ["model", "inner"],
          ["file", { filename: "a", bytes: EXACT }],
        ]),
      ),
    ).toBe(true);
    expect(translate([], "/v1/audio/translations?x=1").upstream.path).toBe("/audio/translations");
  });

  test.for([
    [[["url", "https://a.example/b.mp3"]], "url"],
    [[["Model", "other"]], "Model"],
    [[["model_", "other"]], "model_"],
    [[["service_tier", "priority"]], "service_tier"],
    [[["fallbacks", "other"]], "fallbacks"],
    [[["stream", "yes"]], "stream"],
    [
      [
        ["response_format", "json"],
        ["response_format", "srt"],
      ],
      "response_format",
    ],
    [[["file_url", "https://a.example/b.mp3"]], "file_url"],
    [[["audioUrl", "https://a.example/b.mp3"]], "audioUrl"],
  ] as const)("is refused with %j", ([fields, field]) => {
    expect(() => {
      sizeOf({ fields });
      translate(fields);
    }).toThrow(expect.objectContaining({ code: "invalid_request", field }));
  });

  test("passes every other field", () => {
    const fields: FormPart[] = [
      ["chunking_strategy", '{"type":"server_vad"}'],
      ["hotwords", "gateway"],
      ["temperature", "0.2"],
      ["vad_filter", "true"],
    ];
    expect(() => sizeOf({ fields })).not.toThrow();
    expect(translate(fields).wantsStream).toBe(false);
  });
});

describe("answers", () => {
  const received = (format: string, answer: string) => {
    const bytes = Buffer.from(answer);
    return translate(text(format)).response(bytes, sizeOf({ fields: text(format) }).meter(0)) === bytes;
  };

  test("pass with their bytes and their type", () => {
    expect(received("json", '{ "text" : "a" }')).toBe(true);
    expect(received("text", "a")).toBe(true);
    const typeOf = (format: string, given: string) => translate(text(format)).answerType?.(given);
    expect(typeOf("srt", "application/x-subrip")).toBe("application/x-subrip");
    expect(typeOf("vtt", "text/vtt; charset=utf-8")).toBe("text/vtt; charset=utf-8");
    // A page of the server's would run in a browser.
    expect(typeOf("text", "text/html")).toBe("text/plain; charset=utf-8");
    expect(typeOf("verbose_json", "text/html")).toBe("application/json");
  });

  test.for([
    ["json", "Good morning."],
    ["json", '{"text":'],
    ["json", '{"message":"hello"}'],
    ["verbose_json", "[]"],
  ] as const)("in %s that are none are the server's failure: %s", ([format, answer]) => {
    expect(() => received(format, answer)).toThrow(expect.objectContaining({ code: "upstream_error" }));
  });

  test("with an error are that error, in every format", () => {
    for (const format of ["json", "text"])
      expect(() =>
        received(format, '{"error":{"message":"This file cannot be decoded","type":"invalid_request_error"}}'),
      ).toThrow(expect.objectContaining({ message: expect.stringContaining("cannot be decoded") }));
  });
});

describe("streams", () => {
  const events = (...all: object[]) => all.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("");
  const DONE = { type: "transcript.text.done", text: TEXT, usage: { type: "tokens", input_tokens: 900, output_tokens: 4 } };
  const STREAM = events(
    { type: "transcript.text.delta", delta: "Good " },
    { type: "transcript.text.delta", delta: "morning." },
    DONE,
  );

  function open(price = BY_TOKENS) {
    const fields: FormPart[] = [["stream", "true"]];
    const meter = sizeOf({ fields, price }).meter(0);
    const translation = translate(fields);
    return { meter, stream: translation.stream(meter), wantsStream: translation.wantsStream };
  }

  function run(stream: StreamTranslation, bytes: string): string {
    const chunk = Buffer.from(bytes);
    const pushed = stream.push(chunk);
    return (pushed === "unchanged" ? chunk : pushed).toString() + stream.end().toString();
  }

  test("pass unchanged, split at each byte, and are charged by their last event", () => {
    for (let at = 0; at <= STREAM.length; at += 1) {
      const { meter, stream, wantsStream } = open();
      expect(wantsStream).toBe(true);
      const first = Buffer.from(STREAM.slice(0, at));
      const pushed = at === 0 ? "" : stream.push(first);
      const output = (pushed === "unchanged" ? first : pushed).toString() + run(stream, STREAM.slice(at));
      expect(output).toBe(STREAM);
      expect(stream.outcome()).toBe("complete");
      expect(meter.final()).toMatchObject({ isEstimated: false, usage: { inputTokens: 900, outputTokens: 4 } });
    }
  });

  const chunk = (choices: object[], more: object = {}) => ({ object: "transcription.chunk", model: "inner", choices, ...more });

  test("in chunks are complete with `[DONE]`, and cost what their usage says, or our own count", () => {
    const usage = { prompt_tokens: 900, completion_tokens: 4 };
    const bytes = events(
      chunk([{ delta: { content: "Good " } }]),
      chunk([{ delta: { content: "morning." }, finish_reason: "stop" }]),
    );
    const paid = open();
    const output = run(paid.stream, `${bytes}${events(chunk([], { usage }))}data: [DONE]\n\n`);
    expect(output).toBe(`${bytes}${events(chunk([], { usage }))}data: [DONE]\n\n`.replaceAll('"inner"', '"m"'));
    expect(paid.stream.outcome()).toBe("complete");
    expect(paid.meter.final()).toMatchObject({ isEstimated: false, usage: { inputTokens: 900, outputTokens: 4 } });
    const counted = open(BY_MINUTE);
    run(counted.stream, `${bytes}data: [DONE]\n\n`);
    expect(counted.stream.outcome()).toBe("complete");
    expect(counted.meter.final()).toMatchObject({ isEstimated: true, usage: { units: 90 } });
    const cut = open();
    expect(run(cut.stream, bytes)).toMatch(/"error"/);
    expect(cut.stream.outcome()).toBe("truncated");
  });

  test("of Mistral's events end with their own last one", () => {
    const { meter, stream } = open(BY_MINUTE);
    const bytes = events({ type: "transcription.text.delta", text: "Good " }, { type: "transcription.done", text: TEXT });
    expect(run(stream, bytes)).toBe(bytes);
    expect(stream.outcome()).toBe("complete");
    expect(meter.final()).toMatchObject({ isEstimated: true, usage: { units: 90 } });
  });

  test("of another form give away no text that nobody pays", () => {
    const { stream } = open(BY_MINUTE);
    const output = run(stream, events({ text: "Good " }, { text: "morning." }));
    expect(output).toMatch(/without `stream`/);
    expect(output).not.toContain("Good");
    expect(stream.outcome()).toBe("failed");
  });

  test("that break off end with an error event, and so do those that fail", () => {
    const cut = open();
    expect(run(cut.stream, events({ type: "transcript.text.delta", delta: "Good " }))).toMatch(/"error"/);
    expect(cut.stream.outcome()).toBe("truncated");
    const failed = open();
    expect(run(failed.stream, events({ type: "error", error: { message: "overloaded" } }))).toMatch(/"error"/);
    expect(failed.stream.outcome()).toBe("failed");
  });

  test("without usage are charged by our own count", () => {
    const { meter, stream } = open(BY_MINUTE);
    run(stream, events({ type: "transcript.text.done", text: TEXT }));
    expect(meter.final()).toMatchObject({ isEstimated: true, usage: { units: 90, outputTokens: 4 } });
  });
});

test.for(["0.006", "0.0043", "0.000001", "0.36", "1.00", "0.003333"])(
  "a price of %s a minute is shown as it was written",
  (price) => {
    const each = parsePricePerMinute(price);
    expect(pricePerMinute(each)).toBe(price);
    expect(each * 60n).toBeGreaterThanOrEqual(BigInt(Math.round(Number(price) * 1e6)) * 1_000_000n);
  },
);
