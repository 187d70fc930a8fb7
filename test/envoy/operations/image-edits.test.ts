import type { ServerResponse } from "node:http";
import OpenAI, { toFile } from "openai";
import { describe, expect, test } from "vitest";
import { checkLedger } from "../../../ledger/upkeep/check.ts";
import { parseDirective } from "../../../local/simulator/directive.ts";
import { parseImageEdit } from "../../../local/simulator/images/request.ts";
import { imageAnswer } from "../../../local/simulator/images/response.ts";
import { postForm, type FormRequest } from "../../support/dashboard/form-requests.ts";
import { writeForm, type FormPart } from "../../support/dashboard/forms.ts";
import { imageBackend, imageModel } from "../../support/servers/image-models.ts";
import { useScriptedModels } from "../../support/servers/scripted-models.ts";
import { onlyRow } from "../../support/billing/settlement.ts";

/** Edits of images by OpenAI's SDK and plain HTTP, through a real Envoy and into a real ledger (S46). */
const stack = useScriptedModels(
  async (request, response, _body, bytes) => {
    const [, name = ""] = (request.url ?? "").split("/");
    const contentType = request.headers["content-type"] ?? "";
    received.set(name, { path: request.url ?? "", contentType, bytes });
    if (name === "scripted") return send(response, scripted.status, scripted.body);
    if (name === "without-edits" && request.url?.endsWith("/images/edits")) return send(response, 404, '{"detail":"Not Found"}');
    if (name === "without-edits") return send(response, 200, '{"data":[{"b64_json":"iVBO"}]}');
    if (name === "failing") return send(response, 500, '{"error":{"message":"out of memory"}}');
    send(response, 200, JSON.stringify(imageAnswer(await parseImageEdit(bytes, contentType), parseDirective(""))));
  },
  (url) => [
    imageModel("simulated", [imageBackend(url, "simulated")]),
    imageModel("scripted", [imageBackend(url, "scripted")]),
    imageModel("without-edits", [imageBackend(url, "without-edits")]),
    imageModel("falls-back", [imageBackend(url, "failing"), second(url)]),
    imageModel("partly", [imageBackend(url, "without-edits"), second(url)]),
    {
      ...imageModel("by-tokens", [imageBackend(url, "scripted")]),
      maxOutputTokens: 10_000,
      pricing: { inputPerMillion: "10.00", outputPerMillion: "40.00" },
    },
    { name: "chat-only", backends: [imageBackend(url, "simulated")] },
  ],
);

/** What each server got last. */
const received = new Map<string, { path: string; contentType: string; bytes: Buffer }>();
/** What `scripted` answers. */
let scripted = { status: 200, body: "" };

function send(response: ServerResponse, status: number, body: string): void {
  response.writeHead(status, { "content-type": "application/json", "content-length": Buffer.byteLength(body) }).end(body);
}

function second(url: string) {
  return { ...imageBackend(url, "simulated"), name: "second", upstreamModel: "second-model", priority: 1 };
}

const PICTURE = Buffer.concat([Buffer.from("89504e470d0a1a0a", "hex"), Buffer.from("\r\n--no boundary\r\n")]);
const file = (name: string, bytes = PICTURE): FormPart => [name, { filename: `${name}.png`, bytes }];
const PROMPT = "Give it a hat";

function edit(model: string, parts: readonly FormPart[] = [], options: Partial<FormRequest> = {}) {
  const form: FormPart[] = [file("image"), ["prompt", PROMPT], ["model", model], ...parts];
  return postForm(stack(), form, { path: "/v1/images/edits", ...options });
}

function openai() {
  return new OpenAI({ baseURL: `${stack().baseUrl}/v1`, apiKey: stack().apiKey, maxRetries: 0 });
}

function errorOf(text: string): { message: string; param: string | null } {
  const parsed: { error: { message: string; param: string | null } } = JSON.parse(text);
  return parsed.error;
}

describe("POST /v1/images/edits", () => {
  test("OpenAI's SDK gets edited pictures, which are charged by their size and quality (S28)", async () => {
    const { data: made, response } = await openai()
      .images.edit({
        model: "simulated",
        image: await toFile(PICTURE, "cat.png", { type: "image/png" }),
        mask: await toFile(PICTURE, "mask.png", { type: "image/png" }),
        prompt: PROMPT,
        n: 2,
        size: "1024x1024",
        quality: "high",
        input_fidelity: "high",
      })
      .withResponse();
    expect(made.data).toHaveLength(2);
    expect(made.usage).toMatchObject({ input_tokens_details: { image_tokens: 194 }, output_tokens: 2 * 4_160 });
    expect(response.headers.get("x-gateway-cost")).toBe("0.320000000");
    expect(received.get("simulated")?.path).toBe("/simulated/v1/images/edits");
    const requestId = response.headers.get("x-request-id") ?? "";
    expect(await onlyRow(stack(), requestId)).toMatchObject({
      model: "simulated",
      interface: "image_generation",
      outcome: "complete",
      isEstimated: false,
      usage: { units: 2 },
      unitTerms: "1024x1024, high",
      chargeNanoUsd: 320_000_000n,
    });
  });

  test("several pictures arrive as the SDK sent them, and only the model's name changes", async () => {
    const image = [await toFile(PICTURE, "a.png"), await toFile(Buffer.from("second"), "b.png")];
    await openai().images.edit({ model: "simulated", image, prompt: PROMPT, quality: "low" });
    const { bytes, contentType } = received.get("simulated") ?? { bytes: Buffer.alloc(0), contentType: "" };
    const form = await new Response(new Uint8Array(bytes), { headers: { "content-type": contentType } }).formData();
    const pictures = form.getAll("image[]").filter((each) => each instanceof File);
    expect(await Promise.all(pictures.map((each) => each.text()))).toEqual([PICTURE.toString(), "second"]);
    expect([form.get("model"), form.get("prompt"), form.get("quality")]).toEqual(["inner-model", PROMPT, "low"]);
    const odd: FormPart[] = [
      ["guidance_scale", "7.5"],
      ["user", "u-1"],
      ["stream", "false"],
    ];
    expect((await edit("simulated", odd)).status).toBe(200);
    expect(received.get("simulated")?.bytes).toEqual(
      writeForm([file("image"), ["prompt", PROMPT], ["model", "inner-model"], ...odd]),
    );
  });

  test("tokens of the pictures are charged where the Model charges tokens", async () => {
    const usage = { input_tokens: 1_210, output_tokens: 4_160, input_tokens_details: { image_tokens: 1_200, text_tokens: 10 } };
    scripted = { status: 200, body: JSON.stringify({ data: [{ b64_json: "iVBO" }], usage }) };
    const { requestId } = await edit("by-tokens");
    expect(await onlyRow(stack(), requestId)).toMatchObject({
      isEstimated: false,
      usage: { inputTokens: 1_210, outputTokens: 4_160, units: 1 },
      chargeNanoUsd: 1_210n * 10_000n + 4_160n * 40_000n,
    });
  });

  test("a server that reports more than its pictures can have is not believed (S38)", async () => {
    const usage = { input_tokens: 10_000_000, output_tokens: 4_160 };
    scripted = { status: 200, body: JSON.stringify({ data: [{ b64_json: "iVBO" }], usage }) };
    const { requestId } = await edit("by-tokens");
    expect(await onlyRow(stack(), requestId)).toMatchObject({
      isEstimated: true,
      usage: { inputTokens: 1_600 + 4, outputTokens: 4_160 },
    });
  });

  test("twenty-five megabytes arrive byte by byte at the second server, once the first has failed (S25)", async () => {
    const big = file("image[]", Buffer.alloc(25_000_000, 7));
    const form: FormPart[] = [big, ["prompt", PROMPT], ["quality", "low"]];
    const { status, requestId } = await postForm(stack(), [...form, ["model", "falls-back"]], { path: "/v1/images/edits" });
    expect(status).toBe(200);
    const sent = writeForm([...form, ["model", "second-model"]]);
    expect(received.get("simulated")?.bytes.equals(sent)).toBe(true);
    expect(await onlyRow(stack(), requestId)).toMatchObject({ backend: "second", chargeNanoUsd: 10_000_000n });
  }, 30_000);
});

describe("a server that does not edit", () => {
  test("is a 404 that says so, without cost", async () => {
    const { status, text, headers, requestId } = await edit("without-edits");
    expect(status).toBe(404);
    expect(headers.get("x-should-retry")).toBe("false");
    expect(errorOf(text).message).toBe("The model server does not edit images with this model.");
    expect(await onlyRow(stack(), requestId)).toMatchObject({ outcome: "failed", chargeNanoUsd: 0n });
  });

  test("is passed over, and keeps making images", async () => {
    for (let turn = 0; turn < 4; turn++) {
      const { status, requestId } = await edit("partly", [["quality", "low"]]);
      expect(status).toBe(200);
      expect(await onlyRow(stack(), requestId)).toMatchObject({ backend: "second", chargeNanoUsd: 10_000_000n });
    }
    const made = await fetch(`${stack().baseUrl}/v1/images/generations`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${stack().apiKey}` },
      body: JSON.stringify({ model: "partly", prompt: PROMPT, quality: "low" }),
    });
    await made.text();
    expect(await onlyRow(stack(), made.headers.get("x-request-id") ?? "")).toMatchObject({ backend: "first" });
  });
});

describe("nothing is charged", () => {
  test.for([
    ["no image", 200, '{"data":[]}', 502],
    ["half an answer", 200, '{"data":[{"b64_json":"iVBO', 502],
    ["a page", 200, "<html>", 502],
    ["the server's own refusal", 400, '{"error":{"message":"Invalid image file.","type":"invalid_request_error"}}', 400],
    ["fields that the server cannot read", 422, '{"detail":[{"loc":["body","image"],"msg":"Field required"}]}', 422],
  ] as const)("for %s", async ([, status, body, expected]) => {
    scripted = { status, body };
    const answer = await edit("scripted");
    expect(answer.status).toBe(expected);
    expect(errorOf(answer.text).message).not.toBe("");
    expect(await onlyRow(stack(), answer.requestId)).toMatchObject({ outcome: "failed", chargeNanoUsd: 0n });
  });
});

describe("mistakes are answered before the model server is asked (S21)", () => {
  test.for([
    ["n", "simulated", [["n", "10e0"]], 400],
    [
      "size",
      "simulated",
      [
        ["size", "1024x1024"],
        ["size", "4096x4096"],
      ],
      400,
    ],
    ["stream", "simulated", [["stream", "true"]], 400],
    ["partial_images", "simulated", [["partial_images", "2"]], 400],
    ["model", "simulated", [["model", "scripted"]], 400],
    ["image_url", "simulated", [["image_url", "https://a.example/b.png"]], 400],
    ["style", "simulated", [file("style")], 400],
    ["model", "what", [], 404],
    ["model", "chat-only", [], 404],
  ] as const satisfies [string, string, FormPart[], number][])("%s of %s: %o", async ([param, model, parts, status]) => {
    received.clear();
    const answer = await edit(model, parts);
    expect(answer.status).toBe(status);
    expect(errorOf(answer.text).param).toBe(param);
    expect(received.size).toBe(0);
  });

  test("a form without a picture, a form that is cut, JSON, and nothing at all", async () => {
    const path = "/v1/images/edits";
    const bare = await postForm(
      stack(),
      [
        ["model", "simulated"],
        ["prompt", PROMPT],
      ],
      { path },
    );
    expect(errorOf(bare.text)).toMatchObject({ param: "image", message: expect.stringContaining("-F image=@cat.png") });
    const cut = await postForm(stack(), writeForm([["model", "simulated"], file("image")]).subarray(0, -60), { path });
    expect(errorOf(cut.text).message).toContain("The form ends inside");
    const headers = new Map([["content-type", "application/json"]]);
    const json = await postForm(stack(), Buffer.from('{"model":"simulated"}'), { path, headers });
    expect(errorOf(json.text)).toMatchObject({ param: "content-type", message: expect.stringContaining("multipart/form-data") });
    const nothing = await postForm(stack(), Buffer.alloc(0), { path });
    expect(errorOf(nothing.text).message).toBe("The request has no body. Send a form with `image`, `prompt` and `model`.");
    expect([bare, cut, json, nothing].map(({ status }) => status)).toEqual([400, 400, 400, 400]);
  });

  test("more than the credit covers, pictures and all (S19, S30)", async () => {
    const { apiKey } = await stack().createAccount({ name: "quarter", creditNanoUsd: 450_000_000n });
    // 10,000 tokens of an image are 0.40 USD, and 16,384 of a picture are 0.16.
    const refused = await edit("by-tokens", [], { apiKey });
    expect(refused.status).toBe(402);
    expect(errorOf(refused.text).message).toContain("1 image of up to 10,000 output tokens");
    expect((await edit("simulated", [["quality", "low"]], { apiKey })).status).toBe(200);
  });
});

test("the ledger's own check finds nothing", async () => {
  await stack().idle();
  expect(await checkLedger(stack().database)).toEqual([]);
});
