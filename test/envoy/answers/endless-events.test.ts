import type { ServerResponse } from "node:http";
import { once } from "node:events";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { makeBackendManifests } from "../../support/stacks/backend-manifests.ts";
import { startDataPlane, type DataPlane } from "../../support/stacks/data-plane.ts";
import { eventually } from "../../support/eventually.ts";
import { scrape } from "../../support/stacks/metrics.ts";
import type { TestProduct } from "../../support/stacks/product.ts";
import { startRecordingUpstream, type RecordingUpstream } from "../../support/servers/recording-upstream.ts";
import { borrowStack } from "../../support/shared-stacks/borrow.ts";

/**
 * A model server whose events never end: what came of them waits in extproc's memory, up to 32 MiB for each stream. It is counted
 * with the bodies that a process holds, so that no server fills the memory of all (S40).
 */
const MEBIBYTE = 1024 * 1024;
const MAX_BODY_MIB = 64;
const STREAMS = 12;
const PIECE = Buffer.alloc(64 * 1024, "x");
/** Each waits for more when it has sent so much. */
const SENT_BYTES = 20 * MEBIBYTE;

let upstream: RecordingUpstream;
let manifests: Awaited<ReturnType<typeof makeBackendManifests>>;
let stack: TestProduct;
let plane: DataPlane;
beforeAll(async () => {
  upstream = await startRecordingUpstream((request, response) =>
    request.url?.startsWith("/good") === true ? answerWell(response) : void sendEndlessEvent(response),
  );
  const backend = (protocol: "chat" | "messages", path: string) =>
    ({ name: "only", protocol, url: `http://127.0.0.1:${upstream.port}/${path}` }) as const;
  manifests = await makeBackendManifests([
    { name: "endless-chat", backends: [backend("chat", "endless")] },
    { name: "endless-messages", backends: [backend("messages", "endless")] },
    { name: "good", backends: [backend("chat", "good")] },
  ]);
  stack = await borrowStack({ manifestsDirectory: manifests.directory, creditNanoUsd: 1_000_000_000_000n });
  plane = await startDataPlane(stack, { MAX_BODY_MIB: String(MAX_BODY_MIB) });
});
afterAll(async () => {
  await plane?.stop();
  await stack?.stop();
  await upstream?.stop();
  await manifests?.remove();
});

async function sendEndlessEvent(response: ServerResponse): Promise<void> {
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.write('data: {"choices":[{"index":0,"delta":{"content":"a"}}]}\n\ndata: {"a":"');
  for (let sent = 0; sent < SENT_BYTES && !response.destroyed; sent += PIECE.length) {
    if (!response.write(PIECE)) await writable(response);
  }
}

async function writable(response: ServerResponse): Promise<void> {
  const waiting = new AbortController();
  const { signal } = waiting;
  await Promise.race([once(response, "drain", { signal }), once(response, "close", { signal })]).catch(() => undefined);
  waiting.abort();
}

function answerWell(response: ServerResponse): void {
  const choices = [{ index: 0, message: { role: "assistant", content: "Hello." }, finish_reason: "stop" }];
  const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };
  response.writeHead(200, { "content-type": "application/json" });
  response.end(JSON.stringify({ id: "a", object: "chat.completion", created: 1, model: "m", choices, usage }));
}

async function ask(
  apiKey: string,
  model: string,
  { isStream = false, signal }: { isStream?: boolean; signal?: AbortSignal } = {},
) {
  const response = await fetch(`${plane.baseUrl}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${apiKey}` },
    body: JSON.stringify({ model, stream: isStream, max_tokens: 100, messages: [{ role: "user", content: "hi" }] }),
    ...(signal === undefined ? {} : { signal }),
  });
  return { status: response.status, text: await response.text() };
}

const bodyBytes = async () => (await scrape(plane.extprocAdminUrl)).get("gateway_body_bytes") ?? 0;

test.for(["endless-chat", "endless-messages"])(
  "streams of %s that never finish an event are counted, and end when there is no room",
  { timeout: 120_000 },
  async (model) => {
    const clients = new AbortController();
    onTestFinished(() => clients.abort());
    const ended: string[] = [];
    for (let stream = 0; stream < STREAMS; stream += 1)
      ask(stack.apiKey, model, { isStream: true, signal: clients.signal }).then(
        ({ text }) => ended.push(text),
        () => {},
      );
    await eventually(() => expect(ended.length).toBeGreaterThan(STREAMS / 2), { withinMs: 60_000 });
    for (const text of ended) expect(text).toContain("one event that is larger than the gateway can hold");
    expect(await bodyBytes()).toBeLessThanOrEqual(MAX_BODY_MIB * MEBIBYTE);
    const { apiKey } = await stack.createAccount({ name: `payer-${model}`, creditNanoUsd: 1_000_000_000n });
    expect((await ask(apiKey, "good")).status).toBe(200);
    clients.abort();
    await eventually(async () => expect(await bodyBytes()).toBe(0), { withinMs: 30_000 });
  },
);
