import OpenAI from "openai";
import { describe, expect, test } from "vitest";
import { parseSpeechRequest } from "../../../local/simulator/speech/request.ts";
import { soundPieces } from "../../../local/simulator/speech/response.ts";
import { checkLedger } from "../../../ledger/upkeep/check.ts";
import { eventually } from "../../support/eventually.ts";
import { onlyRow } from "../../support/billing/settlement.ts";
import { ASKED, EACH_NANO_USD, PIECE, SOUND, useSpeechModels } from "../../support/servers/speech-models.ts";

/** Speech by OpenAI's SDK and plain HTTP, through a real Envoy and into a real ledger (S52). */
const { stack, received, script, ask, post } = useSpeechModels();

describe("POST /v1/audio/speech", () => {
  test("OpenAI's SDK gets sound, which is charged by the characters of its text (S28)", async () => {
    const client = new OpenAI({ baseURL: `${stack().baseUrl}/v1`, apiKey: stack().apiKey, maxRetries: 0 });
    const { data: made, response } = await client.audio.speech
      .create({ model: "simulated", voice: "alloy", input: ASKED.input, response_format: "wav", speed: 1.5 })
      .withResponse();
    const sound = Buffer.from(await made.arrayBuffer());
    expect(sound.subarray(0, 4).toString()).toBe("RIFF");
    expect(sound).toEqual(Buffer.concat([...soundPieces(parseSpeechRequest({ model: "m", ...ASKED }))]));
    expect(response.headers.get("content-type")).toBe("audio/wav");
    expect(response.headers.get("x-gateway-cost")).toBe("0.012000000");
    const requestId = response.headers.get("x-request-id") ?? "";
    expect(await onlyRow(stack(), requestId)).toMatchObject({
      model: "simulated",
      interface: "speech",
      outcome: "complete",
      httpStatus: 200,
      isEstimated: false,
      usage: { outputTokens: 0, units: 12 },
      price: { unitPicoUsd: 1_000_000_000n },
      chargeNanoUsd: 12n * EACH_NANO_USD,
    });
    const usage = await fetch(`${stack().baseUrl}/v1/usage/${requestId}`, {
      headers: { authorization: `Bearer ${stack().apiKey}` },
    });
    expect(await usage.json()).toMatchObject({
      interface: "speech",
      characters: 12,
      images: 0,
      searches: 0,
      amount: "0.012000000",
    });
  });

  test("a character is a Unicode code point, however it is written", async () => {
    // A letter with a combining accent, a flag of two code points, a family of five, and an escape.
    const input = "e\u0301\u{1F1EB}\u{1F1F7}\u{1F468}\u200D\u{1F469}\u200D\u{1F467}";
    const asIs = await post({ ...ASKED, model: "simulated", input });
    expect(await onlyRow(stack(), asIs.requestId)).toMatchObject({ usage: { units: 9 } });
    const escaped = await post(`{"model":"simulated","voice":"alloy","input":"\\ud83d\\udc68\\u0041"}`);
    expect(await onlyRow(stack(), escaped.requestId)).toMatchObject({ usage: { units: 2 } });
  });

  test("changes only the model's name on the way to the server", async () => {
    const body =
      '{ "input":"h\\u00e9", "voice":{"id":"voice_1"}, "big":12345678901234567890, "speed":4, "instructions":"Whisper.", "response_format":"opus", "model" :"simulated" }';
    expect((await post(body)).status).toBe(200);
    expect(received.get("simulated")).toEqual({
      path: "/simulated/v1/audio/speech",
      body: body.replace('"simulated"', '"inner-model"'),
    });
  });

  test("passes sound while the server makes it", async () => {
    const { promise: isHeard, resolve: heard } = Promise.withResolvers<void>();
    script((response) => {
      response.writeHead(200, SOUND).write(PIECE);
      void isHeard.then(() => response.end(PIECE));
    });
    const { response, requestId } = await ask({ ...ASKED, model: "scripted" });
    const reader = response.body?.getReader();
    expect((await reader?.read())?.value?.length).toBeGreaterThan(0);
    heard();
    while ((await reader?.read())?.done === false);
    expect(await onlyRow(stack(), requestId)).toMatchObject({ outcome: "complete", chargeNanoUsd: 12n * EACH_NANO_USD });
  });

  test("passes forty megabytes of sound, which no buffer holds", async () => {
    const mebibyte = Buffer.alloc(1024 * 1024, 7);
    script((response) => {
      response.writeHead(200, { ...SOUND, "content-length": 40 * mebibyte.length });
      for (let sent = 0; sent < 40; sent++) response.write(mebibyte);
      response.end();
    });
    const { response, requestId } = await ask({ ...ASKED, model: "scripted", input: "word ".repeat(40) });
    expect((await response.arrayBuffer()).byteLength).toBe(40 * mebibyte.length);
    expect(await onlyRow(stack(), requestId)).toMatchObject({ outcome: "complete", chargeNanoUsd: 200n * EACH_NANO_USD });
  });

  test("passes events with sound in pieces, and adds the cost where it is asked for", async () => {
    const { headers, text, requestId } = await post({
      ...ASKED,
      model: "simulated",
      stream_format: "sse",
      usage: { include: true },
    });
    expect(headers.get("content-type")).toMatch(/^text\/event-stream/);
    const events = [...text.matchAll(/^data: (.*)$/gm)].map(([, data = ""]) => JSON.parse(data));
    expect(events).toHaveLength(14);
    expect(events[0]).toEqual({ type: "speech.audio.delta", audio: expect.any(String) });
    expect(events.at(-1)).toMatchObject({ type: "speech.audio.done", usage: { input_tokens: expect.any(Number), cost: 0.012 } });
    expect(await onlyRow(stack(), requestId)).toMatchObject({
      outcome: "complete",
      isEstimated: false,
      chargeNanoUsd: 12n * EACH_NANO_USD,
    });
  });

  test("charges tokens of the text where the Model says so, as reported or else as counted", async () => {
    const reported = await post({ ...ASKED, model: "by-tokens", stream_format: "sse" });
    const { usage } = JSON.parse(/^data: (.*speech\.audio\.done.*)$/m.exec(reported.text)?.[1] ?? "{}");
    expect(await onlyRow(stack(), reported.requestId)).toMatchObject({
      isEstimated: false,
      usage: { inputTokens: usage.input_tokens },
      chargeNanoUsd: BigInt(usage.input_tokens) * 600_000n,
    });
    const counted = await post({ ...ASKED, model: "by-tokens" });
    const row = await onlyRow(stack(), counted.requestId);
    expect(row).toMatchObject({ isEstimated: true, outcome: "complete" });
    expect(row.chargeNanoUsd).toBeGreaterThan(0n);
    expect(counted.headers.get("x-gateway-cost")).toBe(`0.${String(row.chargeNanoUsd).padStart(9, "0")}`);
  });
});

describe("before a server is called", () => {
  test("credit for every character is required, and all of it can be spent (S19, S30)", async () => {
    const { apiKey, accountId } = await stack().createAccount({ name: "thousand", creditNanoUsd: 1_000n * EACH_NANO_USD });
    received.delete("simulated");
    const refused = await post({ ...ASKED, model: "simulated", input: "x".repeat(1_001) }, { apiKey });
    expect(refused.status).toBe(402);
    expect(refused.text).toContain("covers 1,000 characters, and this request may have 1,001");
    expect(refused.text).toContain("Send a shorter `input`");
    expect(received.has("simulated")).toBe(false);
    const whole = await post({ ...ASKED, model: "simulated", input: "x".repeat(1_000) }, { apiKey });
    expect(whole.status).toBe(200);
    await onlyRow(stack(), whole.requestId);
    await eventually(async () => expect(await stack().balanceNanoUsd(accountId)).toBe(0n));
    expect((await post({ ...ASKED, model: "simulated", input: "x" }, { apiKey })).status).toBe(402);
    expect(await checkLedger(stack().database)).toEqual([]);
  });

  test("twenty clients at once spend what an account has, and no more (S30)", async () => {
    const { apiKey, accountId } = await stack().createAccount({ name: "rush", creditNanoUsd: 60n * EACH_NANO_USD });
    const answers = await Promise.all(Array.from({ length: 20 }, () => post({ ...ASKED, model: "simulated" }, { apiKey })));
    const paid = answers.filter(({ status }) => status === 200);
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 402]));
    for (const { requestId } of paid) await onlyRow(stack(), requestId);
    const balance = await stack().balanceNanoUsd(accountId);
    expect(balance).toBe(60n * EACH_NANO_USD - BigInt(paid.length) * 12n * EACH_NANO_USD);
    expect(balance).toBeGreaterThanOrEqual(0n);
  });

  test.for([
    ["input", { input: "" }],
    ["input", { input: ["Good morning"] }],
    ["input", { input: 5 }],
    ["input", { input: null }],
    ["input", { input: "x".repeat(100_001) }],
    ["stream_format", { stream_format: "websocket" }],
    ["prompt", { prompt: "Something longer" }],
    ["Input", { Input: "Something longer" }],
    ["extra_body.input", { extra_body: { input: "Something longer" } }],
    ["n", { n: 2 }],
  ] as const)("`%s` is a 400 that names the field (S21)", async ([field, further]) => {
    const { status, text } = await post({ ...ASKED, model: "simulated", ...further });
    expect(status).toBe(400);
    expect(JSON.parse(text).error).toMatchObject({ param: field, message: expect.stringContaining(`\`${field}\``) });
  });

  test("a Model without the interface is refused, and the interface is off by default (S8)", async () => {
    const { status, text } = await post({ ...ASKED, model: "chat-only" });
    expect(status).toBe(404);
    expect(text).toContain("chat-only");
  });
});

test("lists the model with its capability, endpoint and price (S45)", async () => {
  const response = await fetch(`${stack().baseUrl}/v1/models/simulated`, {
    headers: { authorization: `Bearer ${stack().apiKey}` },
  });
  expect(await response.json()).toMatchObject({
    capabilities: ["speech"],
    supported_endpoints: ["/v1/audio/speech"],
    pricing: { character: "0.001" },
  });
});
