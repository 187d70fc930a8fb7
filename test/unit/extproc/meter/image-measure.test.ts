import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { sizeInput } from "../../../../extproc/meter/input-size.ts";
import { readImageAnswer } from "../../../../extproc/protocol/image-generation/answer.ts";
import { parseBody } from "../../../../extproc/protocol/json/parse-body.ts";
import { chargeNanoUsd, type Price } from "../../../../ledger/money.ts";
import { BY_QUALITY, EACH_PRICE } from "../../../support/servers/image-models.ts";
import { READER } from "../error-reader.ts";

const BY_TOKENS: Price = { ...EACH_PRICE, unitPicoUsd: 0n, inputPicoUsd: 5_000_000n, outputPicoUsd: 40_000_000n };

interface Sized {
  price?: Price;
  maxOutputTokens?: number;
}

function sizeOf(request: object, { price = EACH_PRICE, maxOutputTokens = 8_192 }: Sized = {}) {
  const body = Buffer.from(JSON.stringify({ model: "m", prompt: "A cat on a roof", ...request }));
  const model = { contextWindow: null, maxOutputTokens, price };
  return sizeInput(parseBody(body, { headers: new Map(), interface: "image_generation" }), { client: "image_generation", model });
}

/** As the run charges it. */
function chargeFor(request: object, answer: object, sized: Sized = {}) {
  const { hold, meter: createMeter } = sizeOf(request, sized);
  const meter = createMeter(0);
  const { n = 1 }: { n?: number } = request;
  const { inputTokens, outputTokens, units, made } = readImageAnswer(Buffer.from(JSON.stringify(answer)), n, READER);
  meter.report({ inputTokens, outputTokens, units, made });
  const { usage, unitPrice, isEstimated } = meter.final();
  const price = { ...(sized.price ?? EACH_PRICE), unitPicoUsd: unitPrice?.picoUsd ?? -1n };
  return { nanoUsd: chargeNanoUsd(usage, price), terms: unitPrice?.terms, usage, isEstimated, hold };
}

const pictures = (count: number) => Array.from({ length: count }, () => ({ b64_json: "iVBORw0KGgo=" }));

describe("the hold of a request for images (S30)", () => {
  test("is the price of each", () => {
    expect(sizeOf({}).hold).toMatchObject({ fullNanoUsd: 40_000_000n, minNanoUsd: 40_000_000n });
    expect(sizeOf({ n: 10 }).hold.fullNanoUsd).toBe(400_000_000n);
  });

  test.for([
    ["nothing", {}, 25n],
    ["automatic size and quality", { size: "auto", quality: "auto" }, 25n],
    ["the dearest quality in one size", { size: "1024x1024", quality: "high" }, 16n],
    ["the dearest quality", { quality: "high" }, 25n],
    ["any quality in one size", { size: "1024x1024" }, 16n],
    ["the lowest quality", { quality: "low" }, 1n],
    ["another quality", { quality: "medium" }, 4n],
    ["another size", { size: "512x512", quality: "high" }, 25n],
  ] as const)("asked for %s, is the highest price that is possible", ([, request, cents]) => {
    expect(sizeOf(request, { price: BY_QUALITY }).hold.fullNanoUsd).toBe(cents * 10_000_000n);
  });

  test("includes the most tokens of each image, where they have a price", () => {
    // 15 bytes are 5 tokens, and 32 are the server's.
    expect(sizeOf({ n: 2 }, { price: BY_TOKENS, maxOutputTokens: 1_000 }).hold.fullNanoUsd).toBe(2_000n * 40_000n + 37n * 5_000n);
  });

  test("is refused with both numbers", () => {
    expect(sizeOf({ n: 3 }).hold.describe(90_000_000n)).toBe("covers 2 images, and this request may have 3");
    expect(sizeOf({}, { price: BY_TOKENS }).hold.describe(1n)).toContain("1 image of up to 8,192 output tokens");
  });
});

describe("the charge of images (S28, S38, S46)", () => {
  test("is of those in the answer, and not of those that were asked for", () => {
    expect(chargeFor({ n: 3 }, { data: pictures(2) })).toMatchObject({ nanoUsd: 80_000_000n, isEstimated: false });
    expect(chargeFor({ n: 3 }, { data: [...pictures(1), {}, null, { b64_json: null }] }).nanoUsd).toBe(40_000_000n);
    expect(chargeFor({ n: 1 }, { data: pictures(5) }).nanoUsd).toBe(40_000_000n);
  });

  test("follows the size and the quality that the server chose", () => {
    const answer = { data: pictures(1), size: "1024x1024", quality: "low" };
    expect(chargeFor({ quality: "auto" }, answer, { price: BY_QUALITY })).toMatchObject({ nanoUsd: 10_000_000n, terms: "low" });
    expect(chargeFor({}, { data: pictures(1) }, { price: BY_QUALITY })).toMatchObject({ nanoUsd: 250_000_000n, terms: "high" });
  });

  test("follows the request where it names them", () => {
    const answer = { data: pictures(1), size: "1024x1024", quality: "low" };
    const request = { size: "1024x1024", quality: "high" };
    const charge = chargeFor(request, answer, { price: BY_QUALITY });
    expect(charge).toMatchObject({ nanoUsd: 160_000_000n, terms: "1024x1024, high" });
  });

  test("is of the tokens that the server reports, where they have a price", () => {
    const usage = { input_tokens: 10, output_tokens: 4_160, total_tokens: 4_170 };
    const charge = chargeFor({}, { data: pictures(1), usage }, { price: BY_TOKENS });
    expect(charge).toMatchObject({ nanoUsd: 10n * 5_000n + 4_160n * 40_000n, isEstimated: false, usage: { units: 1 } });
  });

  test.for([
    ["none", undefined],
    ["zero", { input_tokens: 0, output_tokens: 0 }],
    ["a negative number", { input_tokens: 5, output_tokens: -1 }],
    ["more than the request can have", { input_tokens: 5, output_tokens: 1e9 }],
  ] as const)("of tokens that are reported as %s is an estimate within the hold", ([, usage]) => {
    const { nanoUsd, isEstimated, hold } = chargeFor({ n: 2 }, { data: pictures(2), usage }, { price: BY_TOKENS });
    expect(isEstimated).toBe(true);
    expect(nanoUsd).toBeGreaterThan(0n);
    expect(nanoUsd <= hold.fullNanoUsd).toBe(true);
  });

  test("is never more than the hold, whatever the prices, the request and the answer", () => {
    const size = fc.constantFrom("512x512", "1024x1024", "1024x1536");
    const quality = fc.constantFrom("low", "medium", "high");
    const picoUsd = fc.bigInt({ min: 0n, max: 10n ** 12n });
    const entry = fc
      .record({ size: fc.option(size), quality: fc.option(quality), unitPicoUsd: picoUsd })
      .filter((each) => each.size !== null || each.quality !== null);
    const orAuto = (arbitrary: fc.Arbitrary<string>) => fc.option(fc.oneof(arbitrary, fc.constant("auto")), { nil: undefined });
    const request = fc.record({
      n: fc.option(fc.integer({ min: 1, max: 10 }), { nil: undefined }),
      size: orAuto(size),
      quality: orAuto(quality),
    });
    const answer = fc.record({
      count: fc.integer({ min: 1, max: 20 }),
      size: fc.option(fc.oneof(size, fc.string()), { nil: undefined }),
      quality: fc.option(fc.oneof(quality, fc.string()), { nil: undefined }),
      usage: fc.option(fc.record({ output_tokens: fc.oneof(fc.nat(200_000), fc.double(), fc.string()) }), { nil: undefined }),
    });
    const price = fc.record({ unitPicoUsd: picoUsd, outputPicoUsd: fc.bigInt({ min: 0n, max: 10n ** 8n }) });
    fc.assert(
      fc.property(price, fc.array(entry, { maxLength: 5 }), request, answer, (prices, imagePrices, asked, { count, ...rest }) => {
        const sized = { price: { ...EACH_PRICE, ...prices, imagePrices }, maxOutputTokens: 8_192 };
        const charge = chargeFor(JSON.parse(JSON.stringify(asked)), { data: pictures(count), ...rest }, sized);
        expect(charge.nanoUsd <= charge.hold.fullNanoUsd).toBe(true);
        expect(charge.usage.units ?? 0).toBe(Math.min(count, asked.n ?? 1));
      }),
      { numRuns: 500 },
    );
  });
});

test("memory is reserved for pictures, and little for their addresses (S40)", () => {
  expect(sizeOf({ n: 4 }).answerBytes).toBe(8 * 1024 * 1024);
  expect(sizeOf({ n: 4, response_format: "url" }).answerBytes).toBe(16 * 1024);
});

describe("a request for images is refused", () => {
  test.for([
    ["stream", { stream: true }],
    ["partial_images", { partial_images: 2 }],
    ["n", { n: 11 }],
    ["n", { n: 0 }],
    ["num_images", { num_images: 4 }],
    ["num_outputs_per_prompt", { num_outputs_per_prompt: 4 }],
    ["images_per_prompt", { images_per_prompt: 4 }],
    ["image_num", { image_num: 4 }],
    ["count", { count: 4 }],
    ["batch_size", { batch_size: 4 }],
    ["numImages", { numImages: 4 }],
    ["extra_body.num_images", { extra_body: { num_images: 4 } }],
    ["extra_body.size", { extra_body: { size: "1024x1024" } }],
    ["Size", { Size: "1024x1024" }],
    ["size", { size: "1024X1024" }],
    ["quality", { quality: "HIGH" }],
    ["image", { image: "https://example.com/cat.png" }],
    ["mask", { mask: "https://example.com/cat.png" }],
    ["prompt", { prompt: "" }],
    ["prompt", { prompt: ["A cat"] }],
    ["width", { width: 4_096 }],
    ["Width", { Width: 4_096 }],
    ["imageSize", { imageSize: "4096x4096" }],
    ["parameters.size", { parameters: { size: "4096x4096" } }],
    ["extra_body.width", { extra_body: { width: 4_096 } }],
    ["imageUrl", { imageUrl: "https://example.com/cat.png" }],
    ["extra_body.image", { extra_body: { image: "https://example.com/cat.png" } }],
  ] as const)("for its %s, which is named (S21, S30)", ([field, request]) => {
    expect(() => sizeOf(request, { price: BY_QUALITY })).toThrow(
      expect.objectContaining({ code: "invalid_request", field, message: expect.stringContaining(`\`${field}\``) }),
    );
  });

  test("but for a size under another name only if the price depends on it", () => {
    expect(sizeOf({ width: 512, Height: 512, mask: null, image: null }).hold.fullNanoUsd).toBe(40_000_000n);
  });
});

describe("an answer with large pictures", () => {
  const large = "A".repeat(4 * 1024 * 1024);

  test("is read without them", () => {
    const body = Buffer.from(JSON.stringify({ data: [{ b64_json: large }, { b64_json: large }], usage: { output_tokens: 3 } }));
    const { outline, units, outputTokens } = readImageAnswer(body, 2, READER);
    expect(outline.text.length).toBeLessThan(200);
    expect({ units, outputTokens }).toEqual({ units: 2, outputTokens: 3 });
  });

  test("counts no picture that is empty, beside large ones", () => {
    const data = [
      { b64_json: "" },
      { b64_json: large },
      { url: "" },
      { b64_json: "", url: large },
      { url: "https://example.com" },
    ];
    expect(readImageAnswer(Buffer.from(JSON.stringify({ data })), 5, READER).units).toBe(3);
    expect(() => readImageAnswer(Buffer.from('{"data":[{"b64_json":""}]}'), 1, READER)).toThrow("has no image");
  });

  test.for([
    ["no images", '{"data":[]}', "has no image"],
    ["only what a filter has removed", '{"data":[{"b64_json":null}]}', "has no image"],
    ["no list", '{"created":1}', "no list of images"],
    ["half of it", `{"data":[{"b64_json":"${large}`, "no list of images"],
    ["an error", '{"error":{"message":"The server is full."}}', "no usable answer"],
  ] as const)("is an error if it has %s", ([, body, words]) => {
    expect(() => readImageAnswer(Buffer.from(body), 1, READER)).toThrow(words);
  });
});
