import { connect as connectHttp2 } from "node:http2";
import type { ServerResponse } from "node:http";
import { connect, type Socket } from "node:net";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import * as z from "zod";
import { makeBackendManifests } from "../../support/stacks/backend-manifests.ts";
import { startDataPlane, type DataPlane } from "../../support/stacks/data-plane.ts";
import { eventually } from "../../support/eventually.ts";
import { startRecordingUpstream, type RecordingUpstream } from "../../support/servers/recording-upstream.ts";
import type { TestProduct } from "../../support/stacks/product.ts";
import { borrowStack } from "../../support/shared-stacks/borrow.ts";

/** Streams that stand still for as long as Envoy waits: whose fault is it? With the product's times made short. */
const ROUTES = { from: '"idle_timeout":"300s"', to: '"idle_timeout":"4s"' };
const CONNECTIONS = { from: '"int_value":240000', to: '"int_value":2000' };
const BUFFERS = {
  from: '"per_connection_buffer_high_watermark_timeout":"120s"',
  to: '"per_connection_buffer_high_watermark_timeout":"2s"',
};
const WHOLE_BYTES = 24 * 1024 * 1024;

let upstream: RecordingUpstream;
let manifests: Awaited<ReturnType<typeof makeBackendManifests>>;
let stack: TestProduct;
/** Cuts off connections that take nothing, before the routes' time. */
let plane: DataPlane;
/** Has the routes' time short, and that of connections long. */
let patient: DataPlane;

beforeAll(async () => {
  upstream = await startRecordingUpstream((request, response) =>
    request.url?.startsWith("/whole") === true
      ? answerWhole(response)
      : stream(response, request.url?.startsWith("/silent") === true ? 16 : Infinity),
  );
  const backend = (name: string, path: string) =>
    ({ name, protocol: "chat", url: `http://127.0.0.1:${upstream.port}/${path}` }) as const;
  const pricing = { inputPerMillion: "0.0001", outputPerMillion: "0.0001" };
  // extproc measures the silence of such Models itself.
  const timeouts = { idle: "4s" };
  const limits = { maxOutputTokens: 500_000_000, pricing };
  manifests = await makeBackendManifests([
    ...["unread-one", "unread-patient"].map((name) => ({ name, ...limits, backends: [backend("only", "endless")] })),
    { name: "unread-two", ...limits, backends: [backend("first", "endless"), backend("second", "endless")] },
    { name: "whole", ...limits, backends: [backend("only", "whole")] },
    { name: "unread-slow", ...limits, backends: [backend("only", "endless")] },
    { name: "silent", ...limits, backends: [backend("only", "silent")] },
    { name: "unread-timed", ...limits, timeouts, backends: [backend("only", "endless")] },
    { name: "unread-timed-two", ...limits, timeouts, backends: [backend("first", "endless"), backend("second", "endless")] },
    { name: "silent-timed", ...limits, timeouts, backends: [backend("only", "silent")] },
    { name: "silent-timed-two", ...limits, timeouts, backends: [backend("first", "silent"), backend("second", "silent")] },
  ]);
  stack = await borrowStack({ manifestsDirectory: manifests.directory, creditNanoUsd: 1_000_000_000_000n });
  plane = await startDataPlane(stack, {}, { bootstrapChanges: [CONNECTIONS] });
  patient = await startDataPlane(stack, {}, { bootstrapChanges: [ROUTES] });
});
afterAll(async () => {
  await plane?.stop();
  await patient?.stop();
  await stack?.stop();
  await upstream?.stop();
  await manifests?.remove();
});

const EVENT = `data: {"id":"a","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"${"x".repeat(1_000)}"},"finish_reason":null}]}\n\n`;
const PIECE = Buffer.from(EVENT.repeat(64));

/** So many pieces, then silence. */
function stream(response: ServerResponse, maxPieces: number): void {
  response.writeHead(200, { "content-type": "text/event-stream" });
  let pieces = 0;
  const more = () => {
    while (!response.destroyed && pieces < maxPieces) {
      pieces += 1;
      if (!response.write(PIECE)) return void response.once("drain", more);
    }
  };
  more();
}

function answerWhole(response: ServerResponse): void {
  const message = { role: "assistant", content: "x".repeat(WHOLE_BYTES) };
  const usage = { prompt_tokens: 3, completion_tokens: 5, total_tokens: 8 };
  const choices = [{ index: 0, message, finish_reason: "stop" }];
  response.writeHead(200, { "content-type": "application/json" });
  response.end(JSON.stringify({ id: "a", object: "chat.completion", created: 1, model: "m", choices, usage }));
}

const bodyOf = (model: string, isStream = true) =>
  JSON.stringify({ model, stream: isStream, max_tokens: 400_000_000, messages: [{ role: "user", content: "Go on." }] });

/** Over HTTP/1.1. */
function ask(baseUrl: string, model: string, { isRead, isStream }: { isRead: boolean; isStream?: boolean }): Socket {
  const body = bodyOf(model, isStream);
  const socket = connect({ host: "127.0.0.1", port: Number(new URL(baseUrl).port) });
  onTestFinished(() => void socket.destroy());
  socket.on("error", () => {});
  socket.write(
    `POST /v1/chat/completions HTTP/1.1\r\nhost: gateway\r\nauthorization: Bearer ${stack.apiKey}\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  );
  if (isRead) socket.resume();
  else socket.pause();
  return socket;
}

/** Takes so many bytes off its connection, now and then. */
function readSlowly(socket: Socket, { bytes, everyMs }: { bytes: number; everyMs: number }): () => number {
  let taken = 0;
  socket.on("data", (piece) => {
    taken += piece.length;
    if (taken % bytes < piece.length) socket.pause();
  });
  const timer = setInterval(() => socket.resume(), everyMs);
  onTestFinished(() => clearInterval(timer));
  return () => taken;
}

/** Over HTTP/2, on a connection whose other streams are read. */
function askWithoutReadingByHttp2(baseUrl: string, model: string): void {
  const session = connectHttp2(baseUrl);
  session.on("error", () => {});
  onTestFinished(() => session.destroy());
  const request = session.request({
    ":method": "POST",
    ":path": "/v1/chat/completions",
    authorization: `Bearer ${stack.apiKey}`,
  });
  request.on("error", () => {});
  request.pause();
  request.end(bodyOf(model));
}

/** How the only request to this model ended. */
async function endOf(model: string): Promise<unknown> {
  return eventually(
    async () => {
      const [row] = await stack.database.query({
        text: `SELECT outcome, http_status AS "httpStatus" FROM usage_event WHERE model = $1 AND account_id = $2`,
        values: [model, stack.accountId],
        row: z.strictObject({ outcome: z.string(), httpStatus: z.int() }),
      });
      if (row === undefined) throw new Error(`no request to ${model} has ended`);
      return row;
    },
    { withinMs: 60_000, everyMs: 200 },
  );
}

const failuresOf = async ({ extprocAdminUrl }: DataPlane, model: string) =>
  (await (await fetch(`${extprocAdminUrl}/metrics`)).text())
    .split("\n")
    .filter((line) => line.startsWith("gateway_upstream_failures_total{") && line.includes(`model="${model}"`));

test.for(["unread-one", "unread-two"])(
  "a client that reads nothing from its connection counts as gone, and its model server has not failed: %s",
  { timeout: 120_000 },
  async (model) => {
    ask(plane.baseUrl, model, { isRead: false });
    expect(await endOf(model)).toEqual({ outcome: "aborted", httpStatus: 499 });
    expect(await failuresOf(plane, model)).toEqual([]);
  },
);

test.for(["unread-patient", "unread-timed", "unread-timed-two"])(
  "a client that does not read one stream of its connection counts as gone, too: %s",
  { timeout: 120_000 },
  async (model) => {
    askWithoutReadingByHttp2(patient.baseUrl, model);
    expect(await endOf(model)).toEqual({ outcome: "aborted", httpStatus: 499 });
    expect(await failuresOf(patient, model)).toEqual([]);
    await eventually(async () =>
      expect([...(await patient.envoyStats("^http.relay.downstream_rq_active$")).values()]).toEqual([0]),
    );
  },
);

test.for(["silent-timed", "silent-timed-two"])(
  "a model server that is silent for longer than its Model allows has failed: %s",
  { timeout: 120_000 },
  async (model) => {
    ask(patient.baseUrl, model, { isRead: true });
    expect(await endOf(model)).toEqual({ outcome: "failed", httpStatus: 504 });
    expect(await failuresOf(patient, model)).toEqual([expect.stringMatching(/ 1$/)]);
  },
);

test("a model server that falls silent in its stream has failed", { timeout: 120_000 }, async () => {
  ask(patient.baseUrl, "silent", { isRead: true });
  expect(await endOf("silent")).toEqual({ outcome: "truncated", httpStatus: 200 });
  expect(await failuresOf(patient, "silent")).toEqual([expect.stringMatching(/ 1$/)]);
});

test(
  "a complete answer that its client reads byte by byte is cut off, and one that is read slowly is not",
  { timeout: 120_000 },
  async () => {
    const impatient = await startDataPlane(stack, {}, { bootstrapChanges: [BUFFERS] });
    onTestFinished(async () => void (await impatient.stop()));
    const buffered = async () => [...(await impatient.envoyStats("^http.clients.downstream_cx_tx_bytes_buffered$")).values()];

    const reading = ask(impatient.baseUrl, "unread-slow", { isRead: true });
    const taken = readSlowly(reading, { bytes: 512 * 1024, everyMs: 100 });
    const socket = ask(impatient.baseUrl, "whole", { isRead: false, isStream: false });
    const isOver = new Promise((resolve) => void socket.once("close", resolve));
    await eventually(async () => expect((await buffered())[0]).toBeGreaterThan(8 * 1024 * 1024), { withinMs: 60_000 });
    readSlowly(socket, { bytes: 1, everyMs: 100 });
    await isOver;
    expect(await endOf("whole")).toMatchObject({ httpStatus: 200 });
    const before = taken();
    await eventually(() => expect(taken()).toBeGreaterThan(before + 4 * 1024 * 1024), { withinMs: 60_000 });
    expect(reading.destroyed).toBe(false);
  },
);
