import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { makeBackendManifests } from "../../support/stacks/backend-manifests.ts";
import { startDataPlane, type DataPlane } from "../../support/stacks/data-plane.ts";
import { eventually } from "../../support/eventually.ts";
import { scrape } from "../../support/stacks/metrics.ts";
import type { TestProduct } from "../../support/stacks/product.ts";
import { startRecordingUpstream, type RecordingUpstream } from "../../support/servers/recording-upstream.ts";
import { borrowStack } from "../../support/shared-stacks/borrow.ts";

/**
 * A model server that begins complete answers and never ends them: Envoy holds what has come of each, up to 32 MiB. It is counted
 * while it comes, so that one account's requests fill no more than its share (S40).
 */
const MEBIBYTE = 1024 * 1024;
const MAX_BODY_MIB = 128;
const REQUESTS = 40;
const PIECE = Buffer.alloc(64 * 1024, "x");
const ANSWER_BYTES = 30 * MEBIBYTE;
/** What comes between two measurements is there before it is refused. */
const SLACK_MIB = 256;
const SLOW_BYTES = 9 * MEBIBYTE;
const CREDIT = "1000.000000000";

let upstream: RecordingUpstream;
let manifests: Awaited<ReturnType<typeof makeBackendManifests>>;
let stack: TestProduct;
let plane: DataPlane;
beforeAll(async () => {
  upstream = await startRecordingUpstream((request, response) => {
    const [, server = ""] = request.url?.split("/") ?? [];
    if (server === "good") answerWell(response);
    else if (server === "slow") void answerSlowly(response);
    else void begin(response, server);
  });
  const backend = (path: string, protocol: "chat" | "messages" = "chat") =>
    ({ name: "only", protocol, url: `http://127.0.0.1:${upstream.port}/${path}` }) as const;
  manifests = await makeBackendManifests([
    { name: "endless", backends: [backend("endless")] },
    { name: "stated", backends: [backend("stated")] },
    { name: "failing", backends: [backend("failing")] },
    { name: "endless-of-two", backends: [backend("endless"), { ...backend("endless"), name: "other", priority: 1 }] },
    { name: "endless-messages", backends: [backend("endless", "messages")] },
    { name: "good", backends: [backend("good")] },
    { name: "slow", backends: [backend("slow")] },
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

async function begin(response: ServerResponse, server: string): Promise<void> {
  const length = server === "stated" ? { "content-length": ANSWER_BYTES + 1 } : {};
  response.writeHead(server === "failing" ? 500 : 200, { "content-type": "application/json", ...length });
  for (let sent = 0; sent < ANSWER_BYTES && !response.destroyed; sent += PIECE.length) {
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
  response.writeHead(200, { "content-type": "application/json" });
  response.end(chatAnswer("Hello."));
}

/** White space first, as from a server that thinks, and then all of it in parts. */
async function answerSlowly(response: ServerResponse): Promise<void> {
  response.writeHead(200, { "content-type": "application/json" });
  const answer = Buffer.from(chatAnswer("x".repeat(8 * MEBIBYTE)).padStart(SLOW_BYTES));
  for (let from = 0; from < answer.length; from += MEBIBYTE) {
    response.write(answer.subarray(from, from + MEBIBYTE));
    await sleep(100);
  }
  response.end();
}

function chatAnswer(content: string): string {
  const choices = [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }];
  const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };
  return JSON.stringify({ id: "a", object: "chat.completion", created: 1, model: "m", choices, usage });
}

const balance = async (apiKey: string): Promise<unknown> => {
  const response = await fetch(`${plane.baseUrl}/v1/balance`, { headers: { authorization: `Bearer ${apiKey}` } });
  return response.json();
};

interface Asked {
  model: string;
  path?: string;
  isStream?: boolean;
}

async function ask(apiKey: string, { model, path = "/v1/chat/completions", isStream = false }: Asked, signal?: AbortSignal) {
  const response = await fetch(`${plane.baseUrl}${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${apiKey}`, "anthropic-version": "2023-06-01" },
    body: JSON.stringify({ model, stream: isStream, max_tokens: 100, messages: [{ role: "user", content: "hi" }] }),
    ...(signal === undefined ? {} : { signal }),
  });
  return { status: response.status, text: await response.text() };
}

const bodyMiB = async () => ((await scrape(plane.extprocAdminUrl)).get("gateway_body_bytes") ?? 0) / MEBIBYTE;

test.for<Asked>([
  { model: "endless" },
  { model: "endless-of-two" },
  { model: "stated" },
  { model: "failing" },
  { model: "endless-messages", path: "/v1/messages/count_tokens" },
])("answers of $model that never end fill no more than their account's share", { timeout: 120_000 }, async (asked) => {
  const clients = new AbortController();
  onTestFinished(() => clients.abort());
  const { apiKey: payer } = await stack.createAccount({ name: `payer-${asked.model}`, creditNanoUsd: 1_000_000_000n });
  const { apiKey } = await stack.createAccount({ name: `greedy-${asked.model}`, creditNanoUsd: 1_000_000_000_000n });
  const before = await plane.envoyMemoryMiB();
  const refused: { status: number; text: string }[] = [];
  for (let request = 0; request < REQUESTS; request += 1)
    ask(apiKey, asked, clients.signal).then(
      (answer) => refused.push(answer),
      () => {},
    );
  let peakMiB = 0;
  const watching = setInterval(() => void plane.envoyMemoryMiB().then((now) => (peakMiB = Math.max(peakMiB, now - before))), 50);
  onTestFinished(() => clearInterval(watching));
  await eventually(() => expect(refused.length).toBeGreaterThan(REQUESTS / 2), { withinMs: 60_000 });
  await eventually(async () => expect((await plane.envoyMemoryMiB()) - before).toBeLessThan(MAX_BODY_MIB), { withinMs: 20_000 });
  for (const { status, text } of refused) {
    expect([429, 503]).toContain(status);
    expect(text).toMatch(/its share of the gateway's memory|memory for request bodies is full/);
  }
  expect(peakMiB).toBeLessThan(MAX_BODY_MIB + SLACK_MIB);
  expect((await ask(payer, { model: "good" })).status).toBe(200);
  clients.abort();
  await eventually(async () => expect(await bodyMiB()).toBe(0), { withinMs: 30_000 });
  await eventually(async () => expect(await balance(apiKey)).toMatchObject({ held: "0.000000000", available: CREDIT }));
});

test("an answer that takes its time and states no length is delivered", { timeout: 60_000 }, async () => {
  const { apiKey } = await stack.createAccount({ name: "patient", creditNanoUsd: 1_000_000_000n });
  const { status, text } = await ask(apiKey, { model: "slow" });
  expect(status).toBe(200);
  expect(text).toHaveLength(SLOW_BYTES);
  await eventually(async () => expect(await bodyMiB()).toBeLessThan(SLOW_BYTES / MEBIBYTE + 1));
});
