import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { sizeInput } from "../../../../extproc/meter/input-size.ts";
import { maxSoundBytes } from "../../../../extproc/meter/speech-measure.ts";
import { parseBody } from "../../../../extproc/protocol/json/parse-body.ts";
import { createTranslation } from "../../../../extproc/translate/choose.ts";
import { chargeNanoUsd, type Price } from "../../../../ledger/money.ts";
import { catalogueModel } from "../../../support/billing/ledger.ts";

/** 15 USD per million characters. */
const PRICE: Price = {
  inputPicoUsd: 0n,
  cachedInputPicoUsd: 0n,
  cacheWritePicoUsd: 0n,
  outputPicoUsd: 0n,
  unitPicoUsd: 15_000_000n,
};
const BY_TOKENS: Price = { ...PRICE, unitPicoUsd: 0n, inputPicoUsd: 600_000n };
const BOTH: Price = { ...PRICE, inputPicoUsd: 600_000n };

interface Sized {
  price?: Price;
  contextWindow?: number;
}

function parse(request: object | string) {
  const text = typeof request === "string" ? request : JSON.stringify({ model: "m", voice: "alloy", input: "Hi", ...request });
  return parseBody(Buffer.from(text), { headers: new Map(), interface: "speech" });
}

function sizeOf(request: object | string, { price = PRICE, contextWindow }: Sized = {}) {
  const model = { contextWindow: contextWindow ?? null, maxOutputTokens: 0, price };
  return sizeInput(parse(request), { client: "speech", model });
}

/** As the run charges it. */
function chargeFor(request: object, report: { inputTokens?: number; units?: number } = {}, sized: Sized = {}) {
  const { hold, meter: createMeter } = sizeOf(request, sized);
  const meter = createMeter(0);
  if (report.inputTokens !== undefined) meter.report({ inputTokens: report.inputTokens, outputTokens: 0 });
  const { usage, isEstimated } = meter.final();
  return { nanoUsd: chargeNanoUsd(usage, sized.price ?? PRICE), usage, isEstimated, hold };
}

describe("the characters of a request for speech (S52)", () => {
  test.for([
    ["letters", "Good morning", 12],
    ["a line break and a tab", "a\n\tb", 4],
    ["a letter with its accent", "na\u00efve", 5],
    ["a letter with a combining accent", "nai\u0308ve", 6],
    ["an emoji", "\u{1F44D}", 1],
    ["an emoji of three", "\u{1F469}\u200D\u{1F4BB}", 3],
    ["half of a pair", "\ud83d!", 2],
    ["two halves in the wrong order", "\udc4d\ud83d", 2],
    ["Chinese", "\u65e9\u4e0a\u597d", 3],
  ] as const)("%s", ([, input, characters]) => {
    const { usage, isEstimated, nanoUsd } = chargeFor({ input });
    expect({ units: usage.units, isEstimated, nanoUsd }).toEqual({
      units: characters,
      isEstimated: false,
      nanoUsd: BigInt(characters) * 15_000n,
    });
  });

  test("are the same in any form of JSON", () => {
    const escaped = '{"model":"m","voice":"alloy","input":"\\ud83d\\udc4d\\u00e9\\n"}';
    expect(sizeOf(escaped).meter(0).final().usage.units).toBe(3);
  });

  test("cost what was held, whatever the text and the report", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: "binary", minLength: 1, maxLength: 300 }),
        fc.constantFrom(PRICE, BY_TOKENS, BOTH),
        (input, price) => {
          const { nanoUsd, hold, usage } = chargeFor({ input }, {}, { price });
          expect(usage.units).toBe(Array.from(input).length);
          expect(nanoUsd <= hold.fullNanoUsd).toBe(true);
          expect(price !== PRICE || nanoUsd === hold.fullNanoUsd).toBe(true);
        },
      ),
      { numRuns: 300 },
    );
  });

  test("of a hundred thousand are counted, and not one more", () => {
    expect(chargeFor({ input: "\u{1F44D}".repeat(100_000) }).usage.units).toBe(100_000);
    expect(() => sizeOf({ input: "x".repeat(100_001) })).toThrow("`input` is longer than 100,000 characters");
    expect(() => sizeOf({ input: "x".repeat(2_000_000) })).toThrow("`input` is longer than 100,000 characters");
  });
});

describe("the tokens of a request for speech", () => {
  test("are those that the server reports, or else our own count", () => {
    expect(chargeFor({}, { inputTokens: 7 }, { price: BY_TOKENS })).toMatchObject({ nanoUsd: 7n * 600n, isEstimated: false });
    expect(chargeFor({ input: "x".repeat(400) }, {}, { price: BY_TOKENS })).toMatchObject({
      usage: { inputTokens: 101 },
      isEstimated: true,
    });
  });

  test("are no more than the text can have", () => {
    expect(chargeFor({}, { inputTokens: 1_000_000 }, { price: BY_TOKENS })).toMatchObject({ isEstimated: true });
    const hold = sizeOf({ input: "x".repeat(3_000) }, { price: BY_TOKENS, contextWindow: 100 }).hold;
    expect(hold.fullNanoUsd).toBe(100n * 600n);
  });

  test("include instructions, and fields that only the server knows", () => {
    const alone = sizeOf({}, { price: BY_TOKENS }).hold.fullNanoUsd;
    for (const field of ["instructions", "style_prompt"])
      expect(sizeOf({ [field]: "Whisper. ".repeat(100) }, { price: BY_TOKENS }).hold.fullNanoUsd).toBeGreaterThanOrEqual(
        alone + 300n * 600n,
      );
  });
});

test("a hold is refused with both numbers", () => {
  expect(sizeOf({ input: "x".repeat(50) }).hold.describe(15_000n * 40n)).toBe(
    "covers 40 characters, and this request may have 50",
  );
});

describe("a request for speech is refused", () => {
  test.for([
    ["input", { input: "" }],
    ["input", { input: undefined }],
    ["input", { input: null }],
    ["input", { input: 7 }],
    ["input", { input: ["Hi"] }],
    ["input", { input: { text: "Hi" } }],
    ["Input", { Input: "Something longer" }],
    ["text", { text: "Something longer" }],
    ["messages", { messages: [{ role: "user", content: "Something longer" }] }],
    ["ssml", { ssml: "<speak>Something longer</speak>" }],
    ["Text", { Text: "Something longer" }],
    ["inputText", { inputText: "Something longer" }],
    ["extra_body.TEXT", { extra_body: { TEXT: "Something longer" } }],
    ["extra_body.input", { extra_body: { input: "Something longer" } }],
    ["stream_format", { stream_format: "SSE" }],
    ["streamFormat", { streamFormat: "sse" }],
    ["n", { n: 2 }],
    ["num_generations", { num_generations: 2 }],
    ["user", { user: 5 }],
  ] as const)("for its %s, which is named (S21, S30)", ([field, request]) => {
    expect(() => sizeOf(request)).toThrow(
      expect.objectContaining({ code: "invalid_request", field, message: expect.stringContaining(`\`${field}\``) }),
    );
  });

  test("for a text that it has twice, of which servers read one or the other", () => {
    expect(() => sizeOf('{"model":"m","input":"a","voice":"v","input":"Something longer"}')).toThrow("`input` appears twice");
  });

  test("for another text that it has twice, once as null, of which servers read one or the other", () => {
    expect(() => sizeOf('{"model":"m","input":"a","text":"Something longer","text":null}')).toThrow("`text` is not supported");
  });

  test("but not for a voice, a format, a speed or a field that only its server knows", () => {
    const fields = {
      voice: undefined,
      response_format: "mulaw",
      speed: 99,
      instructions: null,
      stream: true,
      lang_code: "a",
      text: null,
    };
    expect(sizeOf(fields).hold.fullNanoUsd).toBe(30_000n);
  });
});

describe("the translation of a request for speech", () => {
  const model = catalogueModel("modelx", { interfaces: ["speech"] });
  const [first] = model.backends;

  function translate(request: object | string) {
    if (first === undefined) throw new Error("the model has no backend");
    const backend = { ...first, upstreamModel: "upstream-model" };
    const facts = { outputTokens: 0, requestId: "01900000-0000-7000-8000-000000000001", nowSeconds: 1_800_000_000 };
    return createTranslation("speech", { body: parse(request), headers: new Map(), model, backend, ...facts });
  }

  test("changes the model's name alone", () => {
    const body = '{ "speed":4.0, "model" :"m", "input":"h\\u00e9", "voice":{"id":"v"}, "big":12345678901234567890 }';
    const { upstream, dropped } = translate(body);
    expect(upstream.body.toString()).toBe(body.replace('"m"', '"upstream-model"'));
    expect({ path: upstream.path, dropped }).toEqual({ path: "/audio/speech", dropped: [] });
  });

  test("expects sound of a bounded size, or events", () => {
    expect(translate({}).speech).toEqual({ kind: "sound", maxBytes: maxSoundBytes(2) });
    expect(translate({ stream_format: "sse" }).speech).toEqual({ kind: "events" });
  });

  test("passes events in any pieces, and reads their usage", () => {
    const text = `data: {"type":"speech.audio.delta","audio":"AAAA"}\n\ndata: {"type":"speech.audio.done","usage":{"input_tokens":9,"output_tokens":40}}\n\n`;
    const meter = sizeOf({ stream_format: "sse" }, { price: BOTH }).meter(0);
    const stream = translate({ stream_format: "sse" }).stream(meter);
    const got = Array.from(text, (character) => {
      const pushed = stream.push(Buffer.from(character));
      return pushed === "unchanged" ? character : pushed.toString();
    });
    expect(got.join("") + stream.end().toString()).toBe(text);
    expect(stream.outcome()).toBe("complete");
    expect(meter.final()).toMatchObject({ usage: { inputTokens: 9, outputTokens: 0, units: 2 }, isEstimated: false });
  });

  test("ends events with an error if they hold more sound than the text can have", () => {
    const stream = translate({ input: "x", stream_format: "sse" }).stream(sizeOf({}).meter(0));
    const event = Buffer.from(`data: {"type":"speech.audio.delta","audio":"${"A".repeat(1024 * 1024)}"}\n\n`);
    const got = Array.from({ length: 20 }, () => String(stream.push(event))).join("");
    expect(got).toMatch(/\n\ndata: \{"error":\{"message":"The model server sent more audio than the text can have\./);
    expect(stream.outcome()).toBe("failed");
  });
});
