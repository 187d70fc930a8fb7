import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { connect, type Socket } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { makeBackendManifests } from "../../support/stacks/backend-manifests.ts";
import { eventually } from "../../support/eventually.ts";
import { scrape } from "../../support/stacks/metrics.ts";
import { startRecordingUpstream, type RecordingUpstream } from "../../support/servers/recording-upstream.ts";
import { borrowStack } from "../../support/shared-stacks/borrow.ts";
import { startDataPlane, type DataPlane } from "../../support/stacks/data-plane.ts";
import type { TestProduct } from "../../support/stacks/product.ts";

/**
 * A model server that sends as fast as it can, and clients that do not read: extproc answers each piece at once and never
 * waits, so that it is Envoy's buffers that must make the server wait (docs/decisions/0018).
 */
const MEBIBYTE = 1024 * 1024;
const ANSWER_BYTES = 1024 * MEBIBYTE;
const CLIENTS = 3;
/**
 * Of one stream, in Envoy's buffers and on their way through extproc: about 1.5 MiB. What the model server has got rid of says less, for
 * the kernel's sockets hold as much as the machine allows them.
 */
const MAX_HELD_BYTES = 3 * MEBIBYTE;
/** Of extproc, for all of them: nothing but what it is working on. */
const MAX_GROWTH_BYTES = 16 * MEBIBYTE;

let upstream: RecordingUpstream;
let manifests: Awaited<ReturnType<typeof makeBackendManifests>>;
let stack: TestProduct;
let plane: DataPlane;
/** Bytes that Envoy took of each answer. */
const taken: number[] = [];
beforeAll(async () => {
  upstream = await startRecordingUpstream((_request, response) => void flood(response));
  const url = `http://127.0.0.1:${upstream.port}`;
  // Cheap, so that no credit runs out, which would stop it too.
  const pricing = { inputPerMillion: "0.0001", outputPerMillion: "0.0001" };
  const limits = { maxOutputTokens: 500_000_000, pricing };
  const backend = { name: "only", protocol: "chat", url } as const;
  manifests = await makeBackendManifests([
    { name: "flood", ...limits, backends: [backend] },
    { name: "flood-of-two", ...limits, backends: [backend, { ...backend, name: "other" }] },
  ]);
  stack = await borrowStack({ manifestsDirectory: manifests.directory, creditNanoUsd: 1_000_000_000_000n });
  plane = await startDataPlane(stack, {}, { collectsGarbage: true });
});
afterAll(async () => {
  await plane.stop();
  await stack.stop();
  await upstream.stop();
  await manifests.remove();
});

const EVENT = `data: {"id":"a","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"${"x".repeat(1_000)}"},"finish_reason":null}]}\n\n`;
const PIECE = Buffer.from(EVENT.repeat(512));

async function flood(response: ServerResponse): Promise<void> {
  const index = taken.push(0) - 1;
  // At once: what comes before extproc has seen the headers must make the server wait, too.
  response.writeHead(200, { "content-type": "text/event-stream" });
  for (let bytes = 0; bytes < ANSWER_BYTES && !response.destroyed; bytes += PIECE.length) {
    if (!response.write(PIECE)) await writable(response);
    taken[index] = bytes;
  }
  response.end();
}

async function writable(response: ServerResponse): Promise<void> {
  const waiting = new AbortController();
  const { signal } = waiting;
  await Promise.race([once(response, "drain", { signal }), once(response, "close", { signal })]).catch(() => undefined);
  waiting.abort();
}

/** It takes nothing off its socket. */
function askWithoutReading(path: string, { model = "flood", promptBytes = 3 } = {}): Socket {
  const messages = [{ role: "user", content: "x".repeat(promptBytes) }];
  const body = JSON.stringify({ model, stream: true, max_tokens: 400_000_000, messages });
  const socket = connect({ host: "127.0.0.1", port: Number(new URL(plane.baseUrl).port) });
  socket.on("error", () => {});
  socket.write(
    `POST ${path} HTTP/1.1\r\nhost: gateway\r\nauthorization: Bearer ${stack.apiKey}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  );
  socket.pause();
  return socket;
}

/** The bytes that Envoy has received from the model server but not sent to a client. */
async function bufferedBytes(): Promise<number> {
  const stats = [...(await plane.envoyStats("cx_[rt]x_bytes_total$"))];
  const total = (name: RegExp) => {
    const found = stats.filter(([each]) => name.test(each));
    if (found.length === 0) throw new Error(`Envoy counts nothing as ${name.source}`);
    return found.reduce((sum, [, bytes]) => sum + bytes, 0);
  };
  return total(/^cluster\.model\/flood.*\.upstream_cx_rx_bytes_total$/) - total(/^http\.clients\.downstream_cx_tx_bytes_total$/);
}

const openStreams = async () => (await scrape(plane.extprocAdminUrl)).get("gateway_open_streams");

test.for([
  { path: "/v1/chat/completions", model: "flood", promptBytes: 3 },
  { path: "/v1/messages", model: "flood", promptBytes: 3 },
  { path: "/v1/chat/completions", model: "flood", promptBytes: 200_000 },
  { path: "/v1/chat/completions", model: "flood-of-two", promptBytes: 200_000 },
])(
  "clients that do not read ($path, $model, prompt of $promptBytes bytes): the model server waits, and little is buffered for them",
  { timeout: 300_000 },
  async ({ path, ...request }) => {
    taken.length = 0;
    const before = await plane.heldBytes();
    const bufferedBefore = await bufferedBytes();
    const sockets = Array.from({ length: CLIENTS }, () => askWithoutReading(path, request));
    let seen: number[] = [];
    await eventually(
      () => {
        const earlier = seen;
        seen = [...taken];
        expect(seen).toHaveLength(CLIENTS);
        expect(Math.min(...seen)).toBeGreaterThan(0);
        expect(seen).toEqual(earlier);
      },
      { withinMs: 120_000, everyMs: 3_000 },
    );
    expect((await bufferedBytes()) - bufferedBefore).toBeLessThan(CLIENTS * MAX_HELD_BYTES);
    expect(await openStreams()).toBe(CLIENTS);
    await eventually(async () => expect((await plane.heldBytes()) - before).toBeLessThan(MAX_GROWTH_BYTES));

    // A client that resumes reading gets the rest.
    const [first] = sockets;
    first?.resume();
    await eventually(() => expect(taken.some((bytes, index) => bytes > (seen[index] ?? 0))).toBe(true), { withinMs: 60_000 });

    for (const socket of sockets) socket.destroy();
    await eventually(async () => expect(await openStreams()).toBe(0), { withinMs: 60_000 });
    await plane.idle();
    await eventually(async () => expect((await plane.heldBytes()) - before).toBeLessThan(MAX_GROWTH_BYTES));
  },
);

test("while extproc is suspended, the model server waits", { timeout: 120_000 }, async () => {
  taken.length = 0;
  const sockets = Array.from({ length: CLIENTS }, () => askWithoutReading("/v1/messages"));
  for (const socket of sockets) socket.resume();
  try {
    await eventually(() => expect(taken.filter((bytes) => bytes > 0)).toHaveLength(CLIENTS), { withinMs: 30_000 });
    const bufferedBefore = await bufferedBytes();
    plane.signalExtproc("SIGSTOP");
    let seen: number[] = [];
    await eventually(
      () => {
        const earlier = seen;
        seen = [...taken];
        expect(seen).toEqual(earlier);
      },
      { withinMs: 60_000, everyMs: 2_000 },
    );
    expect(seen).toHaveLength(CLIENTS);
    expect((await bufferedBytes()) - bufferedBefore).toBeLessThan(CLIENTS * MAX_HELD_BYTES);
  } finally {
    plane.signalExtproc("SIGCONT");
    for (const socket of sockets) socket.destroy();
  }
  await plane.idle();
});
