import { once } from "node:events";
import { connect as connectHttp2 } from "node:http2";
import { connect } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { onlyRow } from "../../support/billing/settlement.ts";
import {
  ASKED,
  DELTA,
  EACH_NANO_USD,
  EVENTS,
  PIECE,
  SOUND,
  useSpeechModels,
  type SpeechServer,
} from "../../support/servers/speech-models.ts";

/** Speech that does not reach its end: who ended it, and what it costs (S28, S52). */
const { stack, script, ask, post } = useSpeechModels();

describe("nothing is charged", () => {
  const breaksOff =
    (how: "reset" | "close", headers: Record<string, string | number>): SpeechServer =>
    (response, _body, request) => {
      response.writeHead(200, headers).write(headers === EVENTS ? DELTA : PIECE);
      setTimeout(() => (how === "reset" ? request.socket.resetAndDestroy() : request.socket.destroy()), 200);
    };

  test.for([
    ["scripted", "reset", SOUND],
    ["scripted", "close", SOUND],
    ["scripted", "close", { ...SOUND, "content-length": 10_000 }],
    ["scripted-two", "reset", SOUND],
    ["scripted-two", "close", SOUND],
  ] as const)(
    "for sound of `%s` whose server breaks off with a %s: the client sees that it is incomplete",
    async ([model, how, headers]) => {
      script(breaksOff(how, headers));
      const { response, requestId } = await ask({ ...ASKED, model });
      expect(response.status).toBe(200);
      await expect(response.arrayBuffer()).rejects.toThrow(/terminated/);
      expect(await onlyRow(stack(), requestId)).toMatchObject({ outcome: "truncated", chargeNanoUsd: 0n });
    },
  );

  test("for sound over HTTP/2, which ends with a reset", async () => {
    script(breaksOff("close", SOUND));
    const session = connectHttp2(stack().baseUrl);
    onTestFinished(() => session.destroy());
    const request = session.request({
      ":method": "POST",
      ":path": "/v1/audio/speech",
      authorization: `Bearer ${stack().apiKey}`,
    });
    const failed = new Promise((resolve) => void request.once("error", resolve));
    const began = once(request, "response");
    request.end(JSON.stringify({ ...ASKED, model: "scripted" })).resume();
    const [headers] = await began;
    expect(headers).toMatchObject({ ":status": 200, "x-gateway-cost": "0.012000000" });
    expect(String(await failed)).toContain("ERR_HTTP2_STREAM_ERROR");
    expect(session.destroyed).toBe(false);
    expect(await onlyRow(stack(), String(headers["x-request-id"]))).toMatchObject({ outcome: "truncated", chargeNanoUsd: 0n });
  });

  test.for(["reset", "close"] as const)("for events whose server breaks off with a %s: the last one says so", async (how) => {
    script(breaksOff(how, EVENTS));
    const { response, requestId } = await ask({ ...ASKED, model: "scripted", stream_format: "sse" });
    const text = await response.text();
    expect(text).toContain("speech.audio.delta");
    expect(text).toMatch(/\n\ndata: \{"error":\{.*"code":"upstream_error".*\}\}\nevent: error\n\n$/);
    expect(await onlyRow(stack(), requestId)).toMatchObject({ outcome: "truncated", chargeNanoUsd: 0n });
  });

  test("for events that end without their last", async () => {
    script((response) => response.writeHead(200, EVENTS).end(DELTA));
    const { requestId } = await post({ ...ASKED, model: "scripted", stream_format: "sse" });
    expect(await onlyRow(stack(), requestId)).toMatchObject({ outcome: "truncated", chargeNanoUsd: 0n });
  });

  test("for an error among events", async () => {
    script((response) =>
      response.writeHead(200, EVENTS).end(`${DELTA}data: {"type":"error","error":{"message":"The voice is hoarse."}}\n\n`),
    );
    const { text, requestId } = await post({ ...ASKED, model: "scripted", stream_format: "sse" });
    expect(text).toMatch(/\n\ndata: \{"error":\{.*"code":"upstream_error".*\}\}\nevent: error\n\n$/);
    expect(await onlyRow(stack(), requestId)).toMatchObject({ outcome: "failed", chargeNanoUsd: 0n });
  });

  test.for([
    ["JSON", { "content-type": "application/json" }, '{"text":"Good morning"}', {}],
    ["an error with a 200", { "content-type": "application/json" }, '{"error":{"message":"No."}}', {}],
    ["a page", { "content-type": "text/html" }, "<html>", {}],
    ["no sound", SOUND, "", {}],
    ["compressed sound", { ...SOUND, "content-encoding": "gzip" }, "x", {}],
    ["sound in place of events", SOUND, "x", { stream_format: "sse" }],
    ["events without sound", EVENTS, 'data: {"type":"speech.audio.done"}\n\n', { stream_format: "sse" }],
  ] as const)("for %s", async ([, headers, body, further]) => {
    script((response) => response.writeHead(200, headers).end(body));
    const { text, requestId } = await post({ ...ASKED, model: "scripted", ...further });
    // Events that have begun end with an error.
    expect(JSON.parse(/\{"error":.*\}/.exec(text)?.[0] ?? "")).toMatchObject({ error: { code: "upstream_error" } });
    expect(await onlyRow(stack(), requestId)).toMatchObject({ outcome: "failed", chargeNanoUsd: 0n });
  });

  test.for([
    ["an error", '{"error":{"message":"out of memory","type":"server_error"}}'],
    ["an error over several lines", '{\n  "detail": "out of memory"\n}'],
    ["an error in another alphabet", '{"msg":"音声を生成できません"}'],
    ["a page", "<!DOCTYPE html><html><body>Bad gateway</body></html>"],
    ["a sentence", "upstream connect error or disconnect/reset before headers"],
    ["a word", "oops"],
  ] as const)("for text that is labeled as sound: %s", async ([, body]) => {
    script((response) => response.writeHead(200, SOUND).end(body));
    const { status, text, requestId } = await post({ ...ASKED, model: "scripted" });
    expect([status, JSON.parse(text)]).toMatchObject([502, { error: { code: "upstream_error" } }]);
    expect(text).not.toContain(body);
    expect(await onlyRow(stack(), requestId)).toMatchObject({ outcome: "failed", chargeNanoUsd: 0n });
  });

  test("for text that is labeled as sound, and arrives in pieces", async () => {
    const pieces = ['{"er', 'ror":', '{"message":"out of memory"}}'];
    script((response) => {
      response.writeHead(200, SOUND).flushHeaders();
      for (const [index, piece] of pieces.entries()) setTimeout(() => response.write(piece), index * 50);
      setTimeout(() => response.end(), 200);
    });
    const { response, requestId } = await ask({ ...ASKED, model: "scripted" });
    // Its headers are sent by then.
    expect(response.status).toBe(200);
    await expect(response.body?.getReader().read()).rejects.toThrow(/terminated/);
    expect(await onlyRow(stack(), requestId)).toMatchObject({ outcome: "failed", chargeNanoUsd: 0n });
  });

  test("for a server that sends more than anybody could say", async () => {
    script((response) => {
      response.writeHead(200, SOUND);
      const send = () => {
        while (!response.destroyed && response.write(PIECE));
        if (!response.destroyed) response.once("drain", send);
      };
      send();
    });
    const { response, requestId } = await ask({ ...ASKED, model: "scripted" });
    await expect(response.arrayBuffer()).rejects.toThrow(/terminated/);
    expect(await onlyRow(stack(), requestId)).toMatchObject({ outcome: "failed", chargeNanoUsd: 0n });
  });

  test.for(["impatient", "hurried"])("for a server that falls silent: %s", async (model) => {
    script((response) => void response.writeHead(200, SOUND).write(PIECE));
    const { response, requestId } = await ask({ ...ASKED, model });
    await expect(response.arrayBuffer()).rejects.toThrow(/terminated/);
    expect(await onlyRow(stack(), requestId)).toMatchObject({ outcome: "failed", httpStatus: 504, chargeNanoUsd: 0n });
  });

  test("for a server's failure, and the next backend answers (S25)", async () => {
    const failed = await post({ ...ASKED, model: "fails" });
    expect(failed.status).toBeGreaterThanOrEqual(500);
    expect(await onlyRow(stack(), failed.requestId)).toMatchObject({ outcome: "failed", chargeNanoUsd: 0n });
    const { status, requestId } = await post({ ...ASKED, model: "falls-back" });
    expect(status).toBe(200);
    expect(await onlyRow(stack(), requestId)).toMatchObject({ backend: "second", chargeNanoUsd: 12n * EACH_NANO_USD });
  });

  test("for what a server refuses, in its words", async () => {
    script((response) =>
      response
        .writeHead(400, { "content-type": "application/json" })
        .end('{"error":{"message":"speed must be at most 4","type":"invalid_request_error","param":"speed","code":null}}'),
    );
    const { status, text, requestId } = await post({ ...ASKED, model: "scripted", speed: 9 });
    expect(status).toBe(400);
    expect(JSON.parse(text)).toMatchObject({ error: { message: expect.stringContaining("at most 4"), param: "speed" } });
    expect(await onlyRow(stack(), requestId)).toMatchObject({ chargeNanoUsd: 0n });
  });
});

describe("a client that leaves", () => {
  test.for([
    ["sound", SOUND, {}],
    ["events", EVENTS, { stream_format: "sse" }],
  ] as const)("in the middle of %s pays for the whole text", async ([, headers, further]) => {
    script((response) => void response.writeHead(200, headers).write(headers === EVENTS ? DELTA : PIECE));
    const client = new AbortController();
    const { response, requestId } = await ask({ ...ASKED, model: "scripted", ...further }, { signal: client.signal });
    await response.body?.getReader().read();
    client.abort();
    expect(await onlyRow(stack(), requestId)).toMatchObject({
      outcome: "aborted",
      httpStatus: 499,
      usage: { units: 12 },
      chargeNanoUsd: 12n * EACH_NANO_USD,
    });
  });

  test("or stays and reads nothing, until its time is over, pays for the whole text", async () => {
    const { promise, resolve: asked } = Promise.withResolvers<string>();
    script((response, _body, request) => {
      asked(String(request.headers["x-request-id"]));
      response.writeHead(200, SOUND);
      const send = () => {
        while (!response.destroyed && response.write(PIECE));
        if (!response.destroyed) response.once("drain", send);
      };
      send();
    });
    const body = JSON.stringify({ ...ASKED, model: "impatient", input: "x".repeat(1_000) });
    const socket = connect({ host: "127.0.0.1", port: Number(new URL(stack().baseUrl).port) });
    onTestFinished(() => void socket.destroy());
    socket.on("error", () => {});
    socket.pause();
    socket.write(
      `POST /v1/audio/speech HTTP/1.1\r\nhost: gateway\r\nauthorization: Bearer ${stack().apiKey}\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    );
    expect(await onlyRow(stack(), await promise)).toMatchObject({
      outcome: "aborted",
      httpStatus: 499,
      chargeNanoUsd: 1_000n * EACH_NANO_USD,
    });
  });

  test("before the first sound pays beyond its account's allowance", async () => {
    script((response) => response.writeHead(200, SOUND).flushHeaders());
    const { apiKey } = await stack().createAccount({ name: "leaves", creditNanoUsd: 1_000_000_000n });
    const charges: bigint[] = [];
    for (let turn = 0; turn < 2; turn++) {
      const client = new AbortController();
      // 0.07 USD; an account may leave 0.10 behind.
      const { requestId } = await ask({ ...ASKED, model: "scripted", input: "x".repeat(70) }, { apiKey, signal: client.signal });
      client.abort();
      const row = await onlyRow(stack(), requestId);
      expect(row).toMatchObject({ outcome: "aborted", httpStatus: 499 });
      charges.push(row.chargeNanoUsd);
    }
    expect(charges).toEqual([0n, 70n * EACH_NANO_USD]);
  });
});
