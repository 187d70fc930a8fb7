import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { GatewayError } from "../../../../contract/errors.ts";
import { sizeInput } from "../../../../extproc/meter/input-size.ts";
import { parseForm } from "../../../../extproc/protocol/form/form-body.ts";
import { FORM_RULES } from "../../../../extproc/protocol/form/form-rules.ts";
import { createTranslation } from "../../../../extproc/translate/choose.ts";
import { chargeNanoUsd, type Price } from "../../../../ledger/money.ts";
import { formHeaders, writeForm, type FormPart } from "../../../support/dashboard/forms.ts";
import { BY_QUALITY, EACH_PRICE } from "../../../support/servers/image-models.ts";
import { catalogueModel } from "../../../support/billing/ledger.ts";

/** What edits of images cost, and which forms of them are read (S46). */
const BY_TOKENS: Price = { ...EACH_PRICE, unitPicoUsd: 0n, inputPicoUsd: 8_000_000n, outputPicoUsd: 30_000_000n };

const picture = (name: string): FormPart => [name, { filename: "cat.png", bytes: Buffer.from("\x89PNG\r\n", "latin1") }];
const BASICS: readonly FormPart[] = [
  ["model", "m"],
  ["prompt", "Give it a hat."],
];

interface Sized {
  price?: Price;
  contextWindow?: number | null;
}

function read(parts: readonly FormPart[]) {
  return parseForm(writeForm(parts), formHeaders(), FORM_RULES.edit);
}

function sizeOf(parts: readonly FormPart[], { price = EACH_PRICE, contextWindow = null }: Sized = {}) {
  const model = { contextWindow, maxOutputTokens: 8_192, price };
  return sizeInput(read([...BASICS, ...parts]), { client: "image_generation", model });
}

/** As the run charges it. */
function chargeFor(parts: readonly FormPart[], answer: object, sized: Sized = {}) {
  const { hold, meter: createMeter } = sizeOf(parts, sized);
  const meter = createMeter(0);
  const model = catalogueModel("m", { interfaces: ["image_generation"] });
  const [backend] = model.backends;
  if (backend === undefined) throw new Error("the model has no backend");
  const body = read([...BASICS, ...parts]);
  const input = { body, headers: formHeaders(), model, backend, outputTokens: 0, requestId: "r", nowSeconds: 0 };
  createTranslation("image_generation", input).response(Buffer.from(JSON.stringify(answer)), meter);
  const { usage, unitPrice, isEstimated } = meter.final();
  const price = { ...(sized.price ?? EACH_PRICE), unitPicoUsd: unitPrice?.picoUsd ?? -1n };
  return { nanoUsd: chargeNanoUsd(usage, price), usage, isEstimated, hold };
}

const made = (count: number) => Array.from({ length: count }, () => ({ b64_json: "iVBORw0KGgo=" }));

describe("the hold of an edit (S30)", () => {
  test.for([
    ["one image", [], 25n],
    [
      "two of low quality",
      [
        ["n", "2"],
        ["quality", "low"],
      ],
      2n,
    ],
    [
      "one of a size and quality",
      [
        ["size", "1024x1024"],
        ["quality", "high"],
      ],
      16n,
    ],
    [
      "automatic ones",
      [
        ["size", "auto"],
        ["quality", "auto"],
      ],
      25n,
    ],
    ["a quality that is left open by hand", [["quality", "undefined"]], 25n],
  ] as const satisfies [string, FormPart[], bigint][])("is that of a generation: %s", ([, fields, cents]) => {
    const { hold } = sizeOf([picture("image"), ...fields], { price: BY_QUALITY });
    expect(hold.fullNanoUsd).toBe(cents * 10_000_000n);
  });

  test("has the most tokens that a picture may have, for each picture and mask, beside the prompt's", () => {
    const one = sizeOf([picture("image")], { price: BY_TOKENS }).hold.fullNanoUsd;
    // 14 bytes are 5 tokens, and 32 are the server's.
    expect(one).toBe((16_384n + 37n) * 8_000n + 8_192n * 30_000n);
    const parts = [picture("image[]"), picture("image[]"), picture("mask")];
    const { hold } = sizeOf(parts, { price: BY_TOKENS, contextWindow: 20 });
    // The context window is the prompt's.
    expect(hold.fullNanoUsd).toBe((3n * 16_384n + 20n) * 8_000n + 8_192n * 30_000n);
  });
});

describe("the charge of an edit (S28, S38)", () => {
  test("is of its images, at the price of what the server chose", () => {
    const answer = { data: made(2), size: "1024x1024", quality: "low" };
    expect(chargeFor([picture("image"), ["n", "3"]], answer, { price: BY_QUALITY })).toMatchObject({ nanoUsd: 20_000_000n });
    expect(chargeFor([picture("image")], answer).nanoUsd).toBe(40_000_000n);
  });

  test("is of the tokens of pictures and text together, as the server reports them", () => {
    const usage = { input_tokens: 1_210, output_tokens: 4_160, input_tokens_details: { text_tokens: 10, image_tokens: 1_200 } };
    expect(chargeFor([picture("image")], { data: made(1), usage }, { price: BY_TOKENS })).toMatchObject({
      nanoUsd: 1_210n * 8_000n + 4_160n * 30_000n,
      isEstimated: false,
    });
  });

  test("is of our own count of each picture if the server reports nothing", () => {
    const { usage, isEstimated } = chargeFor([picture("image[]"), picture("image[]")], { data: made(1) }, { price: BY_TOKENS });
    expect(usage).toMatchObject({ inputTokens: 2 * 1_600 + 4, outputTokens: 8_192 });
    expect(isEstimated).toBe(true);
  });

  test("believes a token for each byte of the prompt, 4,096, and the most that its pictures can have", () => {
    const answer = { data: made(1), usage: { input_tokens: 14 + 4_096 + 16_384, output_tokens: 100 } };
    expect(chargeFor([picture("image")], answer, { price: BY_TOKENS })).toMatchObject({ isEstimated: false });
  });

  test.for([
    ["more than pictures and prompt can have", { input_tokens: 20_495, output_tokens: 100 }],
    ["a fraction", { input_tokens: 1.5, output_tokens: 100 }],
    ["a negative number", { input_tokens: -1, output_tokens: -1 }],
    ["text", { input_tokens: "many", output_tokens: "many" }],
    ["zero", { input_tokens: 0, output_tokens: 0 }],
    ["a huge number", { input_tokens: 1e300, output_tokens: 1e300 }],
  ] as const)("is an estimate within the hold if the server reports %s", ([, usage]) => {
    const { nanoUsd, isEstimated, hold } = chargeFor([picture("image")], { data: made(1), usage }, { price: BY_TOKENS });
    expect(isEstimated).toBe(true);
    expect(nanoUsd).toBeGreaterThan(0n);
    expect(nanoUsd <= hold.fullNanoUsd).toBe(true);
  });

  test("is never more than the hold, whatever is sent, and whatever the server reports of what it made", () => {
    const fields = fc.record({
      n: fc.option(fc.integer({ min: 1, max: 10 })),
      size: fc.option(fc.constantFrom("auto", "512x512", "1024x1024")),
      quality: fc.option(fc.constantFrom("auto", "low", "high", "null")),
      pictures: fc.integer({ min: 1, max: 16 }),
    });
    const report = fc.record({
      count: fc.integer({ min: 1, max: 20 }),
      size: fc.oneof(fc.constantFrom("512x512", "1024x1024"), fc.string()),
      quality: fc.oneof(fc.constantFrom("low", "high"), fc.string()),
      usage: fc.record({ input_tokens: fc.oneof(fc.nat(15_000), fc.double()), output_tokens: fc.oneof(fc.nat(), fc.string()) }),
    });
    const price = fc.constantFrom(BY_QUALITY, BY_TOKENS, { ...BY_TOKENS, ...BY_QUALITY });
    fc.assert(
      fc.property(fields, report, price, ({ n, size, quality, pictures }, { count, ...rest }, prices) => {
        const parts: FormPart[] = Array.from({ length: pictures }, () => picture("image[]"));
        for (const [name, value] of Object.entries({ n, size, quality })) if (value !== null) parts.push([name, String(value)]);
        const { nanoUsd, hold, usage } = chargeFor(parts, { data: made(count), ...rest }, { price: prices });
        expect(nanoUsd <= hold.fullNanoUsd).toBe(true);
        expect(usage.units).toBe(Math.min(count, n ?? 1));
      }),
    );
  });
});

describe("an edit is refused", () => {
  const file = (name: string): FormPart => picture(name);
  test.for([
    ["n", [["n", "10e0"]]],
    ["n", [["n", "0x2"]]],
    ["n", [["n", "01"]]],
    ["n", [["n", "+1"]]],
    ["n", [["n", " 1"]]],
    ["n", [["n", "1.0"]]],
    ["n", [["n", "١"]]],
    ["n", [["n", ""]]],
    ["n", [["n", "0"]]],
    ["n", [["n", "11"]]],
    [
      "n",
      [
        ["n", "1"],
        ["n", "10"],
      ],
    ],
    ["N", [["N", "10"]]],
    ["n[]", [["n[]", "10"]]],
    ["num_images", [["num_images", "4"]]],
    ["numImages", [["numImages", "4"]]],
    ["num_outputs_per_prompt", [["num_outputs_per_prompt", "4"]]],
    ["extra_body[n]", [["extra_body[n]", "4"]]],
    ["extra_body.n", [["extra_body", '{"n": 4}']]],
    ["diffusers_kwargs.num_images_per_prompt", [["diffusers_kwargs", ' {"num_images_per_prompt": 4}']]],
    ["diffusers_kwargs", [["diffusers_kwargs", "[".repeat(100_000)]]],
    ["parameters.size", [["parameters.size", "4096x4096"]]],
    [
      "size",
      [
        ["size", "1024x1024"],
        ["size", "4096x4096"],
      ],
    ],
    ["size", [["size", "1024X1024"]]],
    ["size", [["size", ""]]],
    ["Size", [["Size", "1024x1024"]]],
    ["width", [["width", "4096"]]],
    ["quality", [["quality", "HIGH"]]],
    [
      "quality",
      [
        ["quality", "low"],
        ["quality", "high"],
      ],
    ],
    ["stream", [["stream", "true"]]],
    ["stream", [["stream", "1"]]],
    [
      "stream",
      [
        ["stream", "false"],
        ["stream", "true"],
      ],
    ],
    ["partial_images", [["partial_images", "2"]]],
    ["partial_images", [["partial_images", "x"]]],
    ["model", [["model", "other"]]],
    ["models", [["models", "other"]]],
    ["prompt", [["prompt", "Another one."]]],
    ["image", [["image", "https://example.com/cat.png"]]],
    ["image[]", [["image[]", "https://example.com/cat.png"]]],
    ["image_url", [["image_url", "https://example.com/cat.png"]]],
    ["imageUrl", [["imageUrl", "https://example.com/cat.png"]]],
    ["url", [["url", "https://example.com/cat.png"]]],
    ["url[]", [["url[]", "https://example.com/cat.png"]]],
    ["file_id", [["file_id", "file-1"]]],
    ["images", [["images", '[{"file_id":"file-1"}]']]],
    ["image[0]", [file("image[0]")]],
    ["style_image", [file("style_image")]],
    ["mask", [["mask", "auto"]]],
    ["mask", [file("mask"), file("mask")]],
    ["mask", [["mask", { filename: "mask.png", bytes: Buffer.alloc(0) }]]],
    ["image[]", Array.from({ length: 16 }, () => file("image[]"))],
    ["service_tier", [["service_tier", "priority"]]],
  ] as const satisfies [string, FormPart[]][])("for its %s, which is named (S21): %o", ([field, parts]) => {
    const refused = refusalOf([...BASICS, picture("image[]"), ...parts]);
    expect(refused).toMatchObject({ code: "invalid_request", field });
    expect(refused.message).toContain(field);
  });

  test.for([
    ["image", BASICS, "is missing. Send the picture as a file, for example with `-F image=@cat.png`."],
    ["image", [...BASICS, file("mask")], "is missing"],
    ["image", [...BASICS, ["image", { filename: "cat.png", bytes: Buffer.alloc(0) }]], "Send the picture's bytes"],
    ["prompt", [["model", "m"], file("image")], "Send a text of at least one character"],
    ["prompt", [["model", "m"], ["prompt", ""], file("image")], "Send a text of at least one character"],
  ] as const satisfies [string, readonly FormPart[], string][])("without its %s", ([field, parts, words]) => {
    expect(refusalOf(parts)).toMatchObject({ field, message: expect.stringContaining(words) });
  });

  test("as JSON, whose pictures are addresses and ids", () => {
    const json = Buffer.from('{"model":"m","prompt":"p","images":[{"file_id":"file-1"}]}');
    expect(() => parseForm(json, new Map([["content-type", "application/json"]]), FORM_RULES.edit)).toThrow(
      /takes a form with `image`, `prompt` and `model`/,
    );
  });

  test("but not for what only the model server knows", () => {
    const fields: FormPart[] = [
      ["input_fidelity", "high"],
      ["background", "transparent"],
      ["output_format", "webp"],
      ["output_compression", "80"],
      ["response_format", "b64_json"],
      ["moderation", "low"],
      ["user", "u-1"],
      ["stream", "false"],
      ["partial_images", "0"],
      ["guidance_scale", "7.5"],
      ["height", "512"],
      ["diffusers_kwargs", '{"guidance_scale": 7.5}'],
      ["negative_prompt", "[n] { of no use"],
    ];
    const files = [...Array.from({ length: 16 }, () => picture("image[]")), picture("mask"), picture("markup")];
    expect(sizeOf([...files, ...fields]).hold.fullNanoUsd).toBe(40_000_000n);
  });
});

/** Of the form, or of what a translation refuses. */
function refusalOf(parts: readonly FormPart[]): GatewayError {
  try {
    const body = read(parts);
    sizeInput(body, { client: "image_generation", model: { contextWindow: null, maxOutputTokens: 8_192, price: BY_QUALITY } });
    const model = catalogueModel("m", { interfaces: ["image_generation"] });
    const [backend] = model.backends;
    if (backend === undefined) throw new Error("the model has no backend");
    const input = { body, headers: formHeaders(), model, backend, outputTokens: 0, requestId: "r", nowSeconds: 0 };
    createTranslation("image_generation", input);
  } catch (error) {
    if (error instanceof GatewayError) return error;
    throw error;
  }
  throw new Error("it was accepted");
}
