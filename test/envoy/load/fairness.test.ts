import { eventually } from "../../support/eventually.ts";
import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { makeBackendManifests } from "../../support/stacks/backend-manifests.ts";
import { scrape } from "../../support/stacks/metrics.ts";
import { sendPipelined } from "../../support/wire/raw-http.ts";
import { startRecordingUpstream, type RecordingUpstream } from "../../support/servers/recording-upstream.ts";
import { startTestStack, type TestStack } from "../../support/stacks/stack.ts";

/** One account, or nobody's, floods the gateway; a customer beside it gets every answer (S40, docs/decisions/0033). */
const FAST = "fast";
const event = (content: string, finish: string | null = null) =>
  `data: {"id":"a","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"${content}"},"finish_reason":${JSON.stringify(finish)}}]}\n\n`;
const PIECE = Buffer.from(event("x").repeat(256));
const USAGE = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
const CREDIT_NANO_USD = 1_000_000_000_000_000n;
const CUSTOMERS_CONNECTIONS = 12;
const ANSWERS = inject("isNight") ? 200 : 100;

let upstream: RecordingUpstream;
let manifests: Awaited<ReturnType<typeof makeBackendManifests>>;
let stack: TestStack;
let customer: string;
let flooder: string;
beforeAll(async () => {
  upstream = await startRecordingUpstream((_request, response, body) => void answer(response, body));
  const url = `http://127.0.0.1:${upstream.port}`;
  const pricing = { inputPerMillion: "0.0001", outputPerMillion: "0.0001" };
  manifests = await makeBackendManifests([
    { name: "m", maxOutputTokens: 500_000_000, pricing, backends: [{ name: "only", protocol: "chat", url }] },
  ]);
  stack = await startTestStack({ manifestsDirectory: manifests.directory });
  customer = (await stack.createAccount({ name: "customer", creditNanoUsd: CREDIT_NANO_USD })).apiKey;
  flooder = (await stack.createAccount({ name: "flooder", creditNanoUsd: CREDIT_NANO_USD })).apiKey;
});
afterAll(async () => {
  await stack.stop();
  await upstream.stop();
  await manifests.remove();
});

async function answer(response: ServerResponse, body: string): Promise<void> {
  if (body.includes(FAST)) return await sendFast(response);
  if (!body.includes('"stream":true')) {
    const choices = [{ index: 0, message: { role: "assistant", content: "Hello." }, finish_reason: "stop" }];
    const whole = { id: "a", object: "chat.completion", created: 1, model: "m", choices, usage: USAGE };
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(whole));
    return;
  }
  const last = `data: ${JSON.stringify({ id: "a", object: "chat.completion.chunk", created: 1, model: "m", choices: [], usage: USAGE })}\n\n`;
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.end(`${event("Hello.")}${event("", "stop")}${last}data: [DONE]\n\n`);
}

/** Tiny events, as fast as they are taken, until the client leaves. */
async function sendFast(response: ServerResponse): Promise<void> {
  response.writeHead(200, { "content-type": "text/event-stream" });
  const closed = once(response, "close");
  while (!response.destroyed) if (!response.write(PIECE)) await Promise.race([once(response, "drain"), closed]);
}

function ask(
  path: string,
  { key, content, isStream }: { key: string; content: string; isStream: boolean },
  signal?: AbortSignal,
) {
  return fetch(stack.baseUrl + path, {
    method: "POST",
    headers: { authorization: `Bearer ${key}` },
    body: JSON.stringify({
      model: "m",
      max_tokens: isStream ? 1_000_000 : 64,
      stream: isStream,
      messages: [{ role: "user", content }],
    }),
    signal,
  });
}

/** JSON and streams by turns, on more connections than an account with most of what runs was once left under strain. */
async function customersAnswers(requests: number): Promise<string[]> {
  const answers: string[] = [];
  let left = requests;
  const work = async () => {
    while (left-- > 0) {
      const isStream = left % 2 === 0;
      const response = await ask("/v1/chat/completions", { key: customer, content: "Hello.", isStream });
      const text = await response.text();
      const isWhole = text.includes(isStream ? "data: [DONE]" : '"finish_reason":"stop"');
      answers.push(response.status === 200 && isWhole ? "whole" : `${response.status}: ${text}`);
    }
  };
  await Promise.all(Array.from({ length: CUSTOMERS_CONNECTIONS }, work));
  return answers;
}

const whole = (count: number) => Array.from({ length: count }, () => "whole");

test.for([
  { streams: 1, path: "/v1/chat/completions" },
  { streams: 1, path: "/v1/messages" },
  { streams: 10, path: "/v1/chat/completions" },
])("$streams fast streams on $path take no answer from another account", { timeout: 240_000 }, async ({ streams, path }) => {
  const ends = new AbortController();
  const read: number[] = Array.from({ length: streams }, () => 0);
  const open = async (): Promise<Response> => {
    const response = await ask(path, { key: flooder, content: FAST, isStream: true }, ends.signal);
    if (response.status !== 429) return response;
    // It may be told to wait, as the others never are.
    await sleep(1_000 * Number(response.headers.get("retry-after")), undefined, { signal: ends.signal });
    return await open();
  };
  const flood = async (_: number, index: number) => {
    const response = await open();
    expect(response.status).toBe(200);
    for await (const chunk of response.body ?? []) read[index] = (read[index] ?? 0) + chunk.length;
  };
  const flooding = read.map((zero, index) => flood(zero, index).catch((error: unknown) => error));
  expect(await customersAnswers(ANSWERS)).toEqual(whole(ANSWERS));
  ends.abort();
  for (const error of await Promise.all(flooding)) expect(String(error)).toMatch(/abort/i);
  // They went on, slower.
  expect(Math.max(...read)).toBeGreaterThan(PIECE.length);
  await stack.idle();
});

/** Statuses of so many requests, from many connections at once. */
async function flood(requests: number, send: () => Promise<Response>) {
  const statuses = new Map<number, number>();
  const times = new Set<string>();
  const startedMs = performance.now();
  let left = requests;
  const work = async () => {
    while (left-- > 0) {
      const response = await send();
      await response.text();
      statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1);
      const retryAfter = response.headers.get("retry-after");
      if (retryAfter !== null) times.add(`${response.status} ${retryAfter}`);
    }
  };
  await Promise.all(Array.from({ length: 100 }, work));
  return { statuses, times: [...times], seconds: (performance.now() - startedMs) / 1000 };
}

test("a flood of wrong keys gets 200 refusals at once and then 200 per second; a customer next to it does not wait", async () => {
  const key = `${customer.slice(0, -6)}${customer.endsWith("aaaaaa") ? "bbbbbb" : "aaaaaa"}`;
  const request = ["GET /v1/models HTTP/1.1", "host: gateway", `authorization: Bearer ${key}`].join("\r\n");
  const flooding = async () => {
    const startedMs = performance.now();
    const connections = Array.from({ length: 100 }, () => sendPipelined(stack.baseUrl, { request, count: 20 }));
    return { statuses: (await Promise.all(connections)).flat(), seconds: (performance.now() - startedMs) / 1000 };
  };
  await eventually(
    async () => {
      const [{ statuses, seconds }, answers] = await Promise.all([flooding(), customersAnswers(100)]);
      expect(statuses).toEqual(Array.from({ length: 2_000 }, () => 401));
      expect(200 + 200 * seconds).toBeGreaterThanOrEqual(2_000 - 100);
      expect(answers).toEqual(whole(100));
      // A busy machine may be too slow for a flood.
      expect((await scrape(stack.extprocAdminUrl)).get("gateway_delayed_refusals_total")).toBeGreaterThan(0);
    },
    { withinMs: 90_000 },
  );
});

test("an account runs two usage reports at a time, and another account gets its own", async () => {
  const usage = (key: string) => fetch(`${stack.baseUrl}/v1/usage`, { headers: { "x-api-key": key } });
  const statusesOfCustomer: number[] = [];
  const askInTurn = async () => {
    for (let index = 0; index < 10; index++) statusesOfCustomer.push((await usage(customer)).status);
  };
  const [{ statuses, times }] = await Promise.all([flood(400, () => usage(flooder)), askInTurn()]);
  expect(statuses.get(429)).toBeGreaterThan(100);
  expect(new Set(statuses.keys())).toEqual(new Set([200, 429]));
  expect(times).toEqual(["429 1"]);
  expect(statusesOfCustomer).toEqual(Array.from({ length: 10 }, () => 200));
});

test.for([
  { name: "/v1/models", send: (key: string) => fetch(`${stack.baseUrl}/v1/models`, { headers: { "x-api-key": key } }) },
  {
    name: "count_tokens",
    send: (key: string) => ask("/v1/messages/count_tokens", { key, content: "Count.", isStream: false }),
  },
])("a flood of $name gets 200 answers at once and then 100 per second, and refusals beyond that", async ({ send }) => {
  const [{ statuses, seconds }, answers] = await Promise.all([flood(1_500, () => send(flooder)), customersAnswers(50)]);
  expect(statuses.get(200)).toBeLessThanOrEqual(201 + 100 * seconds);
  expect([...statuses.keys()].filter((status) => status !== 200 && status !== 429)).toEqual([]);
  expect(answers).toEqual(whole(50));
});
