import type { ServerResponse } from "node:http";
import OpenAI from "openai";
import { describe, expect, test } from "vitest";
import { parseDirective } from "../../../local/simulator/directive.ts";
import { parseImageRequest } from "../../../local/simulator/images/request.ts";
import { imageAnswer } from "../../../local/simulator/images/response.ts";
import { imageBackend, imageModel } from "../../support/servers/image-models.ts";
import { useScriptedModels } from "../../support/servers/scripted-models.ts";
import { onlyRow } from "../../support/billing/settlement.ts";

/** Images by OpenAI's SDK and plain HTTP, through a real Envoy and into a real ledger (S46). */
const stack = useScriptedModels(
  (request, response, body) => {
    const [, name = ""] = (request.url ?? "").split("/");
    received.set(name, { path: request.url ?? "", body });
    SERVERS[name]?.(response, body);
  },
  (url) => [
    imageModel("simulated", [imageBackend(url, "simulated")]),
    imageModel("scripted", [imageBackend(url, "scripted")]),
    imageModel("fails", [imageBackend(url, "failing")]),
    imageModel("falls-back", [imageBackend(url, "failing"), { ...imageBackend(url, "simulated"), name: "second", priority: 1 }]),
    {
      ...imageModel("by-tokens", [imageBackend(url, "scripted")]),
      maxOutputTokens: 10_000,
      pricing: { inputPerMillion: "5.00", outputPerMillion: "40.00" },
    },
    { name: "chat-only", backends: [imageBackend(url, "simulated")] },
  ],
);

/** What each server got last. */
const received = new Map<string, { path: string; body: string }>();
/** What `scripted` answers. */
let answer = "";

const SERVERS: Readonly<Record<string, (response: ServerResponse, body: string) => void>> = {
  simulated: (response, body) =>
    send(response, 200, JSON.stringify(imageAnswer(parseImageRequest(JSON.parse(body)), parseDirective("")))),
  scripted: (response) => send(response, 200, answer),
  failing: (response) => send(response, 500, '{"error":{"message":"out of memory"}}'),
};

function send(response: ServerResponse, status: number, body: string): void {
  response.writeHead(status, { "content-type": "application/json", "content-length": Buffer.byteLength(body) }).end(body);
}

async function post(body: object | string, { path = "/v1/images/generations", apiKey = stack().apiKey } = {}) {
  const response = await fetch(stack().baseUrl + path, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${apiKey}` },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, requestId: response.headers.get("x-request-id") ?? "" };
}

const PROMPT = "A cat on a roof";
const PNG = Buffer.from("89504e470d0a1a0a", "hex");

describe("POST /v1/images/generations", () => {
  test("OpenAI's SDK gets pictures, which are charged by their size and quality (S28)", async () => {
    const client = new OpenAI({ baseURL: `${stack().baseUrl}/v1`, apiKey: stack().apiKey, maxRetries: 0 });
    const { data: made, response } = await client.images
      .generate({ model: "simulated", prompt: PROMPT, n: 2, size: "1024x1024", quality: "high" })
      .withResponse();
    expect(made.data).toHaveLength(2);
    for (const { b64_json: base64 = "" } of made.data ?? [])
      expect(Buffer.from(base64, "base64").subarray(0, PNG.length)).toEqual(PNG);
    expect(made.usage).toMatchObject({ output_tokens: 2 * 4_160 });
    expect(response.headers.get("x-gateway-cost")).toBe("0.320000000");
    const requestId = response.headers.get("x-request-id") ?? "";
    expect(await onlyRow(stack(), requestId)).toMatchObject({
      model: "simulated",
      interface: "image_generation",
      outcome: "complete",
      isEstimated: false,
      usage: { units: 2 },
      price: { unitPicoUsd: 160_000_000_000n },
      unitTerms: "1024x1024, high",
      chargeNanoUsd: 320_000_000n,
    });
    const usage = await fetch(`${stack().baseUrl}/v1/usage/${requestId}`, {
      headers: { authorization: `Bearer ${stack().apiKey}` },
    });
    expect(await usage.json()).toMatchObject({ images: 2, searches: 0, amount: "0.320000000", is_estimated: false });
  });

  test("charges what the server chose where the request leaves it open", async () => {
    // Medium, in its own words.
    const { status, headers, requestId } = await post({ model: "simulated", prompt: PROMPT, quality: "auto" });
    expect(status).toBe(200);
    expect(headers.get("x-gateway-cost")).toBe("0.040000000");
    expect(await onlyRow(stack(), requestId)).toMatchObject({ unitTerms: "", chargeNanoUsd: 40_000_000n });
  });

  test("changes only the model's name on the way to the server", async () => {
    const body = '{ "prompt":"h\\u00e9", "big":12345678901234567890, "background":"transparent", "model" :"simulated" }';
    expect((await post(body)).status).toBe(200);
    expect(received.get("simulated")).toEqual({
      path: "/simulated/v1/images/generations",
      body: body.replace('"simulated"', '"inner-model"'),
    });
  });

  test("passes addresses of pictures, and adds the cost where it is asked for", async () => {
    const request = { model: "simulated", prompt: PROMPT, response_format: "url", quality: "low", usage: { include: true } };
    const made = JSON.parse((await post(request)).text);
    expect(made).toMatchObject({ data: [{ url: expect.stringContaining("https://") }], usage: { cost: 0.01 } });
  });

  test("charges tokens where the Model says so", async () => {
    answer = '{"data":[{"b64_json":"iVBO"}],"usage":{"input_tokens":10,"output_tokens":4160,"total_tokens":4170}}';
    const { requestId } = await post({ model: "by-tokens", prompt: PROMPT });
    expect(await onlyRow(stack(), requestId)).toMatchObject({
      isEstimated: false,
      usage: { inputTokens: 10, outputTokens: 4_160, units: 1 },
      chargeNanoUsd: 10n * 5_000n + 4_160n * 40_000n,
    });
  });

  test("passes an answer of thirty megabytes", async () => {
    const picture = "A".repeat(10 * 1024 * 1024);
    answer = JSON.stringify({ data: [1, 2, 3].map(() => ({ b64_json: picture })), size: "1024x1024", quality: "low" });
    const { status, text, requestId } = await post({ model: "scripted", prompt: PROMPT, n: 3 });
    expect(status).toBe(200);
    expect(text).toBe(answer);
    expect(await onlyRow(stack(), requestId)).toMatchObject({ usage: { units: 3 }, chargeNanoUsd: 30_000_000n });
  });
});

describe("nothing is charged", () => {
  test.for([
    ["no image", '{"data":[]}'],
    ["an error with a 200", '{"error":{"message":"The prompt is not allowed."}}'],
    ["half an answer", '{"data":[{"b64_json":"iVBO'],
  ] as const)("for %s", async ([, scripted]) => {
    answer = scripted;
    const { status, requestId } = await post({ model: "scripted", prompt: PROMPT });
    expect(status).toBeGreaterThanOrEqual(400);
    expect(await onlyRow(stack(), requestId)).toMatchObject({ outcome: "failed", chargeNanoUsd: 0n });
  });

  test("for a server's failure, and the next backend answers (S25)", async () => {
    const failed = await post({ model: "fails", prompt: PROMPT });
    expect(failed.status).toBeGreaterThanOrEqual(500);
    const { status, requestId } = await post({ model: "falls-back", prompt: PROMPT, quality: "low" });
    expect(status).toBe(200);
    expect(await onlyRow(stack(), requestId)).toMatchObject({ backend: "second", chargeNanoUsd: 10_000_000n });
  });
});

describe("before a server is called", () => {
  test("credit for the dearest images that are possible is required (S19, S30)", async () => {
    const { apiKey } = await stack().createAccount({ name: "quarter", creditNanoUsd: 260_000_000n });
    received.delete("simulated");
    const refused = await post({ model: "simulated", prompt: PROMPT, n: 2 }, { apiKey });
    expect(refused.status).toBe(402);
    expect(refused.text).toContain("covers 1 image, and this request may have 2");
    expect(received.has("simulated")).toBe(false);
    expect((await post({ model: "simulated", prompt: PROMPT, n: 2, quality: "low" }, { apiKey })).status).toBe(200);
  });

  test.for([
    ["stream", { stream: true }],
    ["num_images", { num_images: 100 }],
    ["n", { n: 100 }],
    ["image", { image: "aGVsbG8=" }],
  ] as const)("`%s` is a 400 that names the field (S21)", async ([field, further]) => {
    const { status, text } = await post({ model: "simulated", prompt: PROMPT, ...further });
    expect(status).toBe(400);
    expect(JSON.parse(text).error).toMatchObject({ param: field, message: expect.stringContaining(`\`${field}\``) });
  });

  test("a Model without the interface is refused, and the interface is off by default (S8)", async () => {
    const { status, text } = await post({ model: "chat-only", prompt: PROMPT });
    expect(status).toBe(404);
    expect(text).toContain("chat-only");
  });

  test("variations are a 404 that names what is there", async () => {
    const { status, text } = await post({ model: "simulated", prompt: PROMPT }, { path: "/v1/images/variations" });
    expect(status).toBe(404);
    expect(text).toContain("Variations of images are not supported. POST /v1/images/edits");
  });
});

test("lists the model with its capability, endpoint and highest price (S45)", async () => {
  const response = await fetch(`${stack().baseUrl}/v1/models/simulated`, {
    headers: { authorization: `Bearer ${stack().apiKey}` },
  });
  expect(await response.json()).toMatchObject({
    capabilities: ["image_generation"],
    supported_endpoints: ["/v1/images/generations"],
    pricing: { image: "0.25" },
  });
});
