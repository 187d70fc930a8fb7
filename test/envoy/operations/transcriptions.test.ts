import OpenAI, { toFile } from "openai";
import { describe, expect, test } from "vitest";
import { checkLedger } from "../../../ledger/upkeep/check.ts";
import { eventually } from "../../support/eventually.ts";
import { formHeaders, wavFile, writeForm, type FormPart } from "../../support/dashboard/forms.ts";
import { onlyRow } from "../../support/billing/settlement.ts";
import { EACH_NANO_USD, useTranscriptionModels } from "../../support/servers/transcription-models.ts";

/** Transcriptions by OpenAI's SDK and plain HTTP, through a real Envoy and into a real ledger (S54). */
const { stack, received, script, ask, post } = useTranscriptionModels();

const SOUND = wavFile(90, 8_000);
const FILE: FormPart = ["file", { filename: "speech.wav", bytes: SOUND }];
const JSON_TYPE = { "content-type": "application/json" };

function openai() {
  return new OpenAI({ baseURL: `${stack().baseUrl}/v1`, apiKey: stack().apiKey, maxRetries: 0 });
}

function messageOf(text: string): { message: string; param: string | null } {
  const parsed: { error: { message: string; param: string | null } } = JSON.parse(text);
  return parsed.error;
}

describe("POST /v1/audio/transcriptions", () => {
  test("OpenAI's SDK sends a file before its model, and is charged by the second (S28)", async () => {
    const { data, response } = await openai()
      .audio.transcriptions.create({
        file: await toFile(SOUND, "speech.wav"),
        model: "simulated",
        language: "en",
        prompt: "Zürich",
      })
      .withResponse();
    expect(data.text).toBe("Zürich");
    expect(response.headers.get("x-gateway-cost")).toBe("0.090000000");
    const got = received.get("simulated");
    expect(got?.path).toBe("/simulated/v1/audio/transcriptions");
    const form = await new Response(new Uint8Array(got?.bytes ?? []), {
      headers: { "content-type": got?.contentType ?? "" },
    }).formData();
    const file = form.get("file");
    expect(file instanceof File && Buffer.from(await file.arrayBuffer()).equals(SOUND)).toBe(true);
    expect(Object.fromEntries([...form].filter(([, value]) => typeof value === "string"))).toEqual({
      model: "inner-model",
      language: "en",
      prompt: "Zürich",
    });
    const requestId = response.headers.get("x-request-id") ?? "";
    expect(await onlyRow(stack(), requestId)).toMatchObject({
      model: "simulated",
      interface: "transcription",
      outcome: "complete",
      httpStatus: 200,
      isEstimated: false,
      usage: { units: 90 },
      price: { unitPicoUsd: 1_000_000_000n },
      chargeNanoUsd: 90n * EACH_NANO_USD,
    });
    const usage = await fetch(`${stack().baseUrl}/v1/usage/${requestId}`, {
      headers: { authorization: `Bearer ${stack().apiKey}` },
    });
    expect(await usage.json()).toMatchObject({ interface: "transcription", seconds: 90, characters: 0, amount: "0.090000000" });
  });

  test("passes every format with its type, and charges those without usage by their last line or the file", async () => {
    const create = (response_format: "text" | "srt" | "vtt") =>
      openai().audio.transcriptions.create({
        file: new File([new Uint8Array(SOUND)], "a.wav"),
        model: "simulated",
        response_format,
      });
    expect(await create("text")).toBe("A recording of 90.0 seconds.\n");
    expect(await create("srt")).toContain("00:00:00,000 --> 00:01:30,000");
    const vtt = await post([["model", "simulated"], FILE, ["response_format", "vtt"]]);
    expect(vtt.headers.get("content-type")).toBe("text/plain; charset=utf-8");
    expect(await onlyRow(stack(), vtt.requestId)).toMatchObject({ usage: { units: 90 }, isEstimated: false });
    const text = await post([["model", "simulated"], FILE, ["response_format", "text"]]);
    expect(await onlyRow(stack(), text.requestId)).toMatchObject({ usage: { units: 90 }, isEstimated: true });
    const verbose = await openai().audio.transcriptions.create({
      file: await toFile(SOUND, "a.wav"),
      model: "simulated",
      response_format: "verbose_json",
      timestamp_granularities: ["segment", "word"],
    });
    expect(verbose).toMatchObject({ duration: 90, segments: [{ end: 90 }] });
    expect(received.get("simulated")?.bytes.toString("latin1")).toMatch(/name="timestamp_granularities\[\]"/);
  });

  test("streams the text while the server writes it, and settles by the last event", async () => {
    const { promise: isHeard, resolve: heard } = Promise.withResolvers<void>();
    script((response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write('data: {"type":"transcript.text.delta","delta":"Good "}\n\n');
      void isHeard.then(() =>
        response.end(
          'data: {"type":"transcript.text.done","text":"Good morning","usage":{"type":"tokens","input_tokens":900,"output_tokens":3}}\n\n',
        ),
      );
    });
    const { data: stream, response } = await openai()
      .audio.transcriptions.create({ file: await toFile(SOUND, "a.wav"), model: "by-tokens", stream: true })
      .withResponse();
    const types: string[] = [];
    for await (const event of stream) {
      types.push(event.type);
      heard();
    }
    expect(types).toEqual(["transcript.text.delta", "transcript.text.done"]);
    expect(await onlyRow(stack(), response.headers.get("x-request-id") ?? "")).toMatchObject({
      isEstimated: false,
      usage: { inputTokens: 900, outputTokens: 3 },
      chargeNanoUsd: 900n * 600_000n + 3n * 1_000_000n,
    });
  });

  test("a stream of chunks, as vLLM writes it, is complete with its last line, and charged", async () => {
    const chunk = { object: "transcription.chunk", model: "inner-model", choices: [{ delta: { content: "Good morning" } }] };
    script((response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.end(`data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`);
    });
    const { text, requestId } = await post([["model", "scripted"], FILE, ["stream", "true"]]);
    expect(text).toBe(`data: ${JSON.stringify({ ...chunk, model: "scripted" })}\n\ndata: [DONE]\n\n`);
    expect(await onlyRow(stack(), requestId)).toMatchObject({
      outcome: "complete",
      usage: { units: 90 },
      chargeNanoUsd: 90n * EACH_NANO_USD,
    });
  });

  test("a stream that breaks off ends with an error and is free; one that its client leaves is paid", async () => {
    const delta = 'data: {"type":"transcript.text.delta","delta":"Good "}\n\n';
    script((response) => {
      response.writeHead(200, { "content-type": "text/event-stream" }).write(delta);
      setTimeout(() => response.destroy(), 50);
    });
    const broken = await post([["model", "scripted"], FILE, ["stream", "true"]]);
    expect(broken.text).toMatch(/^data: \{"type":"transcript.text.delta".*"error"/s);
    expect(await onlyRow(stack(), broken.requestId)).toMatchObject({ outcome: "truncated", chargeNanoUsd: 0n });
    script((response) => void response.writeHead(200, { "content-type": "text/event-stream" }).write(delta));
    const leaving = new AbortController();
    const { response, requestId } = await ask([["model", "scripted"], FILE, ["stream", "true"]], { signal: leaving.signal });
    await response.body?.getReader().read();
    leaving.abort();
    await eventually(async () => expect((await onlyRow(stack(), requestId)).outcome).toBe("aborted"));
    expect(await onlyRow(stack(), requestId)).toMatchObject({
      usage: { units: 90 },
      isEstimated: true,
      chargeNanoUsd: 90n * EACH_NANO_USD,
    });
  });

  test("a server that does not stream answers as it can", async () => {
    script(
      (response) =>
        void response.writeHead(200, JSON_TYPE).end('{"text":"Good morning","usage":{"type":"duration","seconds":88}}'),
    );
    const { text, headers, requestId } = await post([["model", "scripted"], FILE, ["stream", "true"]]);
    expect(JSON.parse(text)).toMatchObject({ text: "Good morning" });
    expect(headers.get("content-type")).toBe("application/json");
    expect(await onlyRow(stack(), requestId)).toMatchObject({ outcome: "complete", usage: { units: 88 } });
  });

  test("translations go to the server's own endpoint, and cost the same", async () => {
    const { data, response } = await openai()
      .audio.translations.create({ file: await toFile(SOUND, "a.wav"), model: "simulated" })
      .withResponse();
    expect(data.text).toBe("A recording of 90.0 seconds.");
    expect(received.get("simulated")?.path).toBe("/simulated/v1/audio/translations");
    expect(await onlyRow(stack(), response.headers.get("x-request-id") ?? "")).toMatchObject({
      chargeNanoUsd: 90n * EACH_NANO_USD,
    });
  });

  test("a server without translations is a 404 that says so, and one without transcriptions is broken", async () => {
    script((response) => void response.writeHead(404, JSON_TYPE).end('{"detail":"Not Found"}'));
    const translation = await post([["model", "scripted"], FILE], { path: "/v1/audio/translations" });
    expect(translation.status).toBe(404);
    expect(messageOf(translation.text).message).toBe("The model server does not translate recordings with this model.");
    expect((await post([["model", "scripted"], FILE])).status).toBe(502);
  });

  test("twenty-five megabytes arrive byte by byte, also at the second server", async () => {
    const bytes = wavFile(25_000_000 / 32_000);
    const form: FormPart[] = [
      ["file", { filename: "long.wav", bytes }],
      ["model", "falls-back"],
    ];
    const { status, requestId } = await post(form);
    expect(status).toBe(200);
    const sent = writeForm([form[0] ?? FILE, ["model", "second-model"]]);
    expect(received.get("simulated")?.bytes.equals(sent)).toBe(true);
    expect(await onlyRow(stack(), requestId)).toMatchObject({
      backend: "second",
      usage: { units: Math.ceil(bytes.length / 32_000) },
    });
  }, 30_000);

  test("a server cannot charge more than was held (S30)", async () => {
    script((response) => void response.writeHead(200, JSON_TYPE).end('{"text":"a","duration":360000}'));
    const { requestId } = await post([["model", "scripted"], FILE]);
    expect(await onlyRow(stack(), requestId)).toMatchObject({ usage: { units: 92 }, chargeNanoUsd: 92n * EACH_NANO_USD });
  });

  test.for([
    ["of the server's", 400, JSON_TYPE, '{"error":{"message":"Invalid file format.","type":"invalid_request_error"}}', 400],
    ["that is no transcription", 200, JSON_TYPE, '{"hello":"world"}', 502],
    ["that is a page", 200, { "content-type": "text/html" }, "<html>", 502],
  ] as const)("an answer %s is an error, and free", async ([, status, headers, body, expected]) => {
    script((response) => void response.writeHead(status, headers).end(body));
    const answer = await post([["model", "scripted"], FILE]);
    expect(answer.status).toBe(expected);
    expect(messageOf(answer.text).message).not.toBe("");
    expect(await onlyRow(stack(), answer.requestId)).toMatchObject({ chargeNanoUsd: 0n });
  });
});

describe("mistakes are answered before the model server is asked (S21)", () => {
  test.for([
    ["no file", [["model", "simulated"]], 400, "file"],
    [
      "a file as a text",
      [
        ["model", "simulated"],
        ["file", "@a.wav"],
      ],
      400,
      "file",
    ],
    ["no model", [FILE], 400, "model"],
    ["two models", [["model", "simulated"], FILE, ["model", "scripted"]], 400, "model"],
    ["an address", [["model", "simulated"], FILE, ["url", "https://a.example/b.mp3"]], 400, "url"],
    ["an unknown model", [["model", "what"], FILE], 404, "model"],
    ["a model of chat", [["model", "chat-only"], FILE], 404, "model"],
  ] as const satisfies [string, FormPart[], number, string][])("%s", async ([, form, status, param]) => {
    received.clear();
    const answer = await post(form);
    expect(answer.status).toBe(status);
    expect(messageOf(answer.text).param).toBe(param);
    expect(received.size).toBe(0);
  });

  test("JSON, and a form that is cut", async () => {
    const json = await post(Buffer.from('{"model":"simulated"}'), { headers: new Map([["content-type", "application/json"]]) });
    expect(messageOf(json.text)).toMatchObject({
      param: "content-type",
      message: expect.stringContaining("multipart/form-data"),
    });
    const cut = await post(writeForm([["model", "simulated"], FILE]).subarray(0, -40), { headers: formHeaders() });
    expect(cut.status).toBe(400);
    expect(messageOf(cut.text).message).toContain("ends inside");
  });

  test("more than the credit covers, with the remedy", async () => {
    const { apiKey } = await stack().createAccount({ name: "minute", creditNanoUsd: 60n * EACH_NANO_USD });
    const refused = await post([["model", "simulated"], FILE], { apiKey });
    expect(refused.status).toBe(402);
    expect(messageOf(refused.text).message).toContain("covers 60 seconds of audio, and this request may have 92");
    expect(messageOf(refused.text).message).toContain("Send a shorter recording");
    const short: FormPart = ["file", { filename: "a.wav", bytes: wavFile(50, 8_000) }];
    expect((await post([["model", "simulated"], short], { apiKey })).status).toBe(200);
  });
});

test("the ledger's own check finds nothing", async () => {
  await stack().idle();
  expect(await checkLedger(stack().database)).toEqual([]);
});

test("lists the model with its capability, endpoint and price (S45)", async () => {
  const response = await fetch(`${stack().baseUrl}/v1/models/simulated`, {
    headers: { authorization: `Bearer ${stack().apiKey}` },
  });
  expect(await response.json()).toMatchObject({
    capabilities: ["transcription"],
    supported_endpoints: ["/v1/audio/transcriptions"],
    pricing: { second: "0.001" },
  });
});
