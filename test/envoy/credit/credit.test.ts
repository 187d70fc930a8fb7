import { setTimeout as sleep } from "node:timers/promises";
import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import * as z from "zod";
import { checkLedger } from "../../../ledger/upkeep/check.ts";
import { parseApiKey } from "../../../ledger/keys/keys.ts";
import { setKeyLimits } from "../../../ledger/leases/limits.ts";
import { eventually } from "../../support/eventually.ts";
import { killAndRestart } from "../../support/stacks/restart.ts";
import { startTestStack, type TestStack } from "../../support/stacks/stack.ts";

/** Prepaid credit through a real Envoy: streams that outlast it, and a processor that is killed. */
let stack: TestStack;
beforeAll(async () => {
  stack = await startTestStack({ creditNanoUsd: 1_000_000_000_000n, restartsParts: false });
});
afterAll(() => stack.stop());

const PAIRS = [
  { path: "/v1/chat/completions", model: "modelx-v4-pro", upstream: "chat" },
  { path: "/v1/chat/completions", model: "modelx-v4-flash", upstream: "messages" },
  { path: "/v1/messages", model: "modelx-v4-pro", upstream: "chat" },
  { path: "/v1/messages", model: "modelx-v4-flash", upstream: "messages" },
  { path: "/v1/responses", model: "modelx-v4-pro", upstream: "chat" },
] as const;

const FINISH = {
  "/v1/chat/completions": [/"finish_reason":"length"/, /data: \[DONE\]\n\n$/],
  "/v1/messages": [/"stop_reason":"max_tokens"/, /event: message_stop\ndata: .*\n\n$/],
  "/v1/responses": [/"incomplete_details":\{"reason":"max_output_tokens"\}/, /event: response\.incomplete\ndata: .*\n\n$/],
} as const;

async function send(path: string, key: string, body: object): Promise<Response> {
  return fetch(stack.baseUrl + path, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${key}` },
    body: JSON.stringify(body),
  });
}

const longStream = (path: string, model: string, directive: string) => {
  const conversation = [{ role: "user", content: `Go on. [[sim ${directive}]]` }];
  return path === "/v1/responses"
    ? { model, max_output_tokens: 8_000, stream: true, input: conversation }
    : { model, max_tokens: 8_000, stream: true, messages: conversation };
};

describe.for(PAIRS)("$path by a $upstream server", ({ path, model, upstream }) => {
  /** The cost of this many output tokens. */
  async function worth(tokens: bigint): Promise<bigint> {
    const [price] = (await pricesOf(model)).map(({ outputPicoUsd }) => outputPicoUsd);
    return ((price ?? 0n) * tokens) / 1_000n;
  }

  test("a stream whose server ignores its limit ends with the protocol's own finish when credit runs out, and is charged (S30)", async () => {
    const poor = await stack.createAccount({ name: `poor-${upstream}-${path.length}`, creditNanoUsd: await worth(1_200n) });
    const response = await send(path, poor.apiKey, longStream(path, model, "tokens=2500 chunk-ms=1 unlimited"));
    expect(response.status).toBe(200);
    const text = await response.text();
    for (const part of FINISH[path]) expect(text).toMatch(part);
    expect(text.match(/event: content_block_start/g)?.length).toBe(text.match(/event: content_block_stop/g)?.length);
    const [usage] = await stack.usageOf(response.headers.get("x-request-id") ?? "");
    expect(usage).toMatchObject({ outcome: "stopped", isEstimated: true });
    expect(usage?.usage.outputTokens).toBeGreaterThanOrEqual(1_024);
    const balance = await stack.balanceNanoUsd(poor.accountId);
    expect(balance).toBeLessThan(await worth(300n));
    expect(balance).toBeGreaterThan(-(await worth(300n)));

    const next = await send(path, poor.apiKey, longStream(path, model, "tokens=2500 chunk-ms=1"));
    expect(next.status).toBe(402);
  });

  test("a limit beyond the account's credit is lowered, and the answer ends there (S30, S37)", async () => {
    const poor = await stack.createAccount({ name: `limited-${upstream}-${path.length}`, creditNanoUsd: await worth(1_500n) });
    const { stream: _, ...whole } = longStream(path, model, "tokens=2500");
    const response = await send(path, poor.apiKey, whole);
    expect(response.status).toBe(200);
    const answer = await response.text();
    expect(answer).toMatch(/"(length|max_tokens|max_output_tokens)"/);
    const [usage] = await stack.usageOf(response.headers.get("x-request-id") ?? "");
    expect(usage).toMatchObject({ outcome: "complete", usage: { outputTokens: 1_024 } });
    expect(await stack.balanceNanoUsd(poor.accountId)).toBeGreaterThanOrEqual(0n);

    const next = await send(path, poor.apiKey, whole);
    expect(next.status).toBe(402);
    expect(next.headers.get("x-should-retry")).toBe("false");
    expect(await next.text()).toMatch(/covers \d+ output tokens after the prompt, and this request needs 1,024/);
  });
});

test("a hundred concurrent requests without a limit are all answered on a new account's credit (S37)", async () => {
  const newcomer = await stack.createAccount({ name: "newcomer", creditNanoUsd: 5_000_000_000n });
  const client = new OpenAI({ apiKey: newcomer.apiKey, baseURL: `${stack.baseUrl}/v1`, maxRetries: 0 });
  const answers = await Promise.all(
    Array.from({ length: 100 }, (_, number) =>
      client.chat.completions.create({
        model: "modelx-v4-pro",
        messages: [{ role: "user", content: `Hello, ${number}. [[sim delay-ms=4000]]` }],
      }),
    ),
  );
  expect(new Set(answers.map(({ choices }) => choices[0]?.finish_reason))).toEqual(new Set(["stop"]));
});

test("a new account's last cents are spent one request after another, until the minimum is not covered (S37)", async () => {
  const newcomer = await stack.createAccount({ name: "cents", creditNanoUsd: 50_000_000n });
  const ask = {
    model: "modelx-v4-pro",
    messages: [{ role: "user", content: "Go on. [[sim tokens=500]]" }],
  };
  const statuses: number[] = [];
  for (let number = 0; number < 8; number++) {
    const response = await send("/v1/chat/completions", newcomer.apiKey, ask);
    await response.arrayBuffer();
    statuses.push(response.status);
  }
  const refused = statuses.indexOf(402);
  expect(statuses.slice(0, refused)).toEqual(Array.from({ length: refused }, () => 200));
  expect(refused).toBeGreaterThanOrEqual(4);
  expect(new Set(statuses.slice(refused))).toEqual(new Set([402]));
  expect(await stack.balanceNanoUsd(newcomer.accountId)).toBeGreaterThanOrEqual(0n);
});

test("no request field lets a client's request cost more than its hold (S30)", async () => {
  const greedy = await stack.createAccount({ name: "greedy", creditNanoUsd: 50_000_000n });
  const fields = [
    { max_completion_tokens: 1, max_tokens: 8_000 },
    { max_completion_tokens: 8_000, max_tokens: 1 },
    { max_tokens: 1, n_predict: 8_000 },
    { max_tokens: 1, Max_Tokens: 8_000 },
    { max_tokens: 1, options: { num_predict: 8_000 } },
    { max_tokens: 1, n: 1.5 },
  ];
  const statuses = await Promise.all(
    Array.from({ length: 60 }, async (_, number) => {
      const messages = [{ role: "user", content: "Go on. [[sim tokens=8000]]" }];
      const response = await send("/v1/chat/completions", greedy.apiKey, {
        model: "modelx-v4-pro",
        messages,
        ...fields[number % fields.length],
      });
      await response.arrayBuffer();
      return [number % fields.length, response.status];
    }),
  );
  for (const [kind, status] of statuses) expect(status).toBe((kind ?? 0) < 3 ? 200 : 400);
  await eventually(async () => expect((await usageOfAccount(greedy.accountId)).length).toBe(30));
  expect(await stack.balanceNanoUsd(greedy.accountId)).toBeGreaterThanOrEqual(0n);
});

test("a stopped stream is over at once: a client that stays connected does not keep a model server busy", async () => {
  const [path, model] = ["/v1/messages", "modelx-v4-pro"];
  const [price] = (await pricesOf(model)).map(({ outputPicoUsd }) => outputPicoUsd);
  const poor = await stack.createAccount({ name: "stays-on", creditNanoUsd: ((price ?? 0n) / 1_000n) * 1_200n });
  // It would go on for a minute.
  const response = await send(path, poor.apiKey, longStream(path, model, "tokens=6000 chunk-ms=10 unlimited"));
  expect(await response.text()).toMatch(/event: message_stop\n.*\n\n$/);
  await eventually(async () => expect((await stack.idle()).get("gateway_open_streams")).toBe(0));
});

test("a request whose minimum is not covered is refused, and the message explains the remedy (S37)", async () => {
  const poor = await stack.createAccount({ name: "whole", creditNanoUsd: 1_000n });
  const { stream: _, ...whole } = longStream("/v1/chat/completions", "modelx-v4-pro", "tokens=5");
  const response = await send("/v1/chat/completions", poor.apiKey, whole);
  expect(response.status).toBe(402);
  expect(await response.text()).toContain("Set a lower output token limit");
});

test("a key over its limit gets a 429 that names it, and earlier headers show the remaining amounts (S23)", async () => {
  const customer = await stack.createAccount({ name: "limited", creditNanoUsd: 1_000_000_000n });
  const parsed = parseApiKey(customer.apiKey);
  const publicId = parsed.kind === "key" ? parsed.publicId : "";
  await setKeyLimits(stack.database, publicId, { requestsPerMinute: 2 });
  const ask = { model: "modelx-v4-pro", messages: [{ role: "user", content: "Hi." }] };
  const refused = await eventually(async () => {
    const response = await send("/v1/chat/completions", customer.apiKey, ask);
    expect(response.status).toBe(429);
    return response;
  });
  expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
  expect(refused.headers.get("x-ratelimit-remaining-requests")).toBe("0");
  expect(await refused.json()).toMatchObject({
    error: {
      code: "rate_limit_exceeded",
      message: expect.stringContaining("This API key has reached its limit of 2 requests per minute"),
    },
  });
  await setKeyLimits(stack.database, publicId, { requestsPerMinute: 1_000 });
  const served = await eventually(async () => {
    const response = await send("/v1/chat/completions", customer.apiKey, ask);
    expect(response.status).toBe(200);
    return response;
  });
  expect(served.headers.get("x-ratelimit-limit-requests")).toBe("1000");
});

// Last: the process that it starts ends with it.
test(
  "SIGKILL of extproc during 200 streams: each is settled once, as far as recorded, and its leases are freed",
  { timeout: 180_000 },
  async () => {
    const customer = await stack.createAccount({ name: "killed", creditNanoUsd: 100_000_000_000n });
    const streams = Array.from({ length: 200 }, (_, index) => openStream(customer, index));
    const requestIds = await Promise.all(streams.map(({ begun }) => begun));
    expect(new Set(requestIds).size).toBe(200);
    await sleep(1_500);
    await killAndRestart(stack.pids["extproc"] ?? 0, `${stack.extprocAdminUrl}/readyz`);
    await Promise.all(streams.map(({ ended }) => ended));

    const rows = await eventually(
      async () => {
        const found = await usageOfAccount(customer.accountId);
        expect(found.length).toBe(200);
        return found;
      },
      { withinMs: 30_000 },
    );
    expect(new Set(rows.map(({ requestId }) => requestId))).toEqual(new Set(requestIds));
    expect(new Set(rows.map(({ outcome }) => outcome))).toEqual(new Set(["lost"]));
    expect(rows.every(({ isEstimated }) => isEstimated)).toBe(true);
    // Noted at the first token and each second from there.
    expect(rows.filter(({ chargeNanoUsd }) => chargeNanoUsd === 0n)).toEqual([]);
    const charged = rows.reduce((sum, row) => sum + row.chargeNanoUsd, 0n);
    expect(await stack.balanceNanoUsd(customer.accountId)).toBe(100_000_000_000n - charged);
    await eventually(async () => expect(await openLeasesOf(customer.accountId)).toBe(0), { withinMs: 20_000 });
    expect(await checkLedger(stack.database)).toEqual([]);
    // It serves again.
    await eventually(async () => {
      const response = await send("/v1/chat/completions", customer.apiKey, {
        model: "modelx-v4-pro",
        messages: [{ role: "user", content: "Hi." }],
      });
      expect(response.status).toBe(200);
    });
  },
);

/** begun: the request id, when the answer has begun. */
function openStream(customer: { apiKey: string }, index: number): { begun: Promise<string>; ended: Promise<void> } {
  const pair = PAIRS[index % PAIRS.length] ?? PAIRS[0];
  const response = send(pair.path, customer.apiKey, longStream(pair.path, pair.model, "tokens=600 chunk-ms=100"));
  const reader = response.then(({ body }) => body?.getReader());
  const begun = reader.then(async (each) => {
    await each?.read();
    return (await response).headers.get("x-request-id") ?? "";
  });
  return { begun, ended: begun.then(async () => drain(await reader)) };
}

async function drain(reader: ReadableStreamDefaultReader | undefined): Promise<void> {
  try {
    while (!((await reader?.read())?.done ?? true)) continue;
  } catch {
    // Envoy cuts the streams whose processor is gone.
  }
}

async function pricesOf(model: string) {
  return stack.database.query({
    text: `SELECT output_pico_usd AS "outputPicoUsd" FROM price_version WHERE model = $1 ORDER BY version DESC`,
    values: [model],
    row: z.strictObject({ outputPicoUsd: z.bigint() }),
  });
}

async function usageOfAccount(accountId: string) {
  return stack.database.query({
    text: `SELECT request_id AS "requestId", outcome, is_estimated AS "isEstimated", charge_nano_usd AS "chargeNanoUsd"
           FROM usage_event WHERE account_id = $1`,
    values: [accountId],
    row: z.strictObject({ requestId: z.string(), outcome: z.string(), isEstimated: z.boolean(), chargeNanoUsd: z.bigint() }),
  });
}

async function openLeasesOf(accountId: string): Promise<number> {
  return stack.database.execute("SELECT FROM credit_lease WHERE account_id = $1 AND ended_at IS NULL", [accountId]);
}
