import { setTimeout as sleep } from "node:timers/promises";
import { beforeAll, expect, test } from "vitest";
import { eventually } from "../../support/eventually.ts";
import { onlyRow } from "../../support/billing/settlement.ts";
import { useScriptedModels, type ModelAnswer } from "../../support/servers/scripted-models.ts";
import type { UsageRow } from "../../support/stacks/product.ts";

/** 400 tokens by our own count, in forty pieces. */
const PIECE = "ten words ".repeat(4);
const PIECES = 40;
const PROMPT = "word ".repeat(400);

/** A model server whose answers the test chooses. */
let answer: ModelAnswer = () => {};
const stack = useScriptedModels((request, response, body) => answer(request, response, body));

/** How many anomalies were counted on the Model `as-chat`, by what was wrong with them. Other files may have counted some. */
async function countAnomalies(): Promise<ReadonlyMap<string, number>> {
  const metrics = await (await fetch(`${stack().extprocAdminUrl}/metrics`)).text();
  const lines = metrics.matchAll(/^gateway_usage_anomalies_total\{model="as-chat",anomaly="(\w+)"\} (\d+)$/gm);
  return new Map([...lines].map(([, anomaly = "", count]) => [anomaly, Number(count)]));
}

let anomaliesBefore: ReadonlyMap<string, number>;
beforeAll(async () => {
  anomaliesBefore = await countAnomalies();
});

interface Asked {
  model: "as-chat" | "as-messages";
  path?: string;
  isStream?: boolean;
  signal?: AbortSignal;
  content?: unknown;
  apiKey?: string;
}

function ask({
  model,
  path = "/v1/chat/completions",
  isStream = true,
  signal,
  content = PROMPT,
  apiKey = stack().apiKey,
}: Asked): Promise<Response> {
  return fetch(stack().baseUrl + path, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${apiKey}` },
    body: JSON.stringify({ model, max_tokens: 1_000, stream: isStream, messages: [{ role: "user", content }] }),
    signal,
  });
}

const usageOf = (response: Response): Promise<UsageRow> => onlyRow(stack(), response.headers.get("x-request-id") ?? "");

const chunk = (delta: object, more: object = {}) =>
  `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, model: "m", choices: [{ index: 0, delta, finish_reason: null }], ...more })}\n\n`;
const usage = (prompt: unknown, completion: unknown, details: object = {}) => ({
  usage: { prompt_tokens: prompt, completion_tokens: completion, ...details },
});
const FINISH = `data: ${JSON.stringify({ id: "c", choices: [{ index: 0, delta: {}, finish_reason: "stop" }] })}\n\n`;
const last = (prompt: unknown, completion: unknown, details: object = {}) =>
  `${FINISH}data: ${JSON.stringify({ id: "c", choices: [], ...usage(prompt, completion, details) })}\n\ndata: [DONE]\n\n`;

/** A stream of the whole text, in which the pieces may report usage. */
function chat(report: (piece: number) => object = () => ({}), end = `${FINISH}data: [DONE]\n\n`, text: unknown = PIECE): string {
  return Array.from({ length: PIECES }, (_, piece) => chunk({ content: text }, report(piece))).join("") + end;
}

const event = (type: string, members: object) => `event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`;

function messages(start: object, end: object): string {
  return [
    event("message_start", { message: { id: "m", type: "message", role: "assistant", model: "m", content: [], ...start } }),
    event("content_block_start", { index: 0, content_block: { type: "text", text: "" } }),
    ...Array.from({ length: PIECES }, () =>
      event("content_block_delta", { index: 0, delta: { type: "text_delta", text: PIECE } }),
    ),
    event("content_block_stop", { index: 0 }),
    event("message_delta", { delta: { stop_reason: "end_turn", stop_sequence: null }, ...end }),
    event("message_stop", {}),
  ].join("");
}

function streams(text: string): ModelAnswer {
  return (_request, response) => void response.writeHead(200, { "content-type": "text/event-stream" }).end(text);
}

const hostile: [string, Asked["model"], string][] = [
  ["usage only in the first chunk", "as-chat", chat((piece) => (piece === 0 ? usage(500, 0) : {}))],
  ["usage in the middle only", "as-chat", chat((piece) => (piece === 19 ? usage(500, 200) : {}))],
  ["usage that falls", "as-chat", chat((piece) => usage(500, 400 - 10 * piece))],
  ["zeros at the end", "as-chat", chat(() => ({}), last(0, 0))],
  ["one token in the end", "as-chat", chat(() => ({}), last(500, 1))],
  ["1e15 tokens", "as-chat", chat(() => ({}), last(500, 1e15))],
  ["more than a number can hold", "as-chat", chat(() => ({}), last(1e300, 1e300))],
  ["a negative count and a fraction", "as-chat", chat(() => ({}), last(-5, 0.5))],
  ["text for numbers", "as-chat", chat(() => ({}), last("NaN", "500"))],
  [
    "more cached tokens than tokens",
    "as-chat",
    chat(() => ({}), last(450, 400, { prompt_tokens_details: { cached_tokens: 600 } })),
  ],
  [
    "a negative count of cached tokens",
    "as-chat",
    chat(() => ({}), last(450, 400, { prompt_tokens_details: { cached_tokens: -5 } })),
  ],
  [
    "more reasoning than output",
    "as-chat",
    chat(() => ({}), last(500, 380, { completion_tokens_details: { reasoning_tokens: 900 } })),
  ],
  ["no usage at all", "as-chat", chat()],
  ["content in parts", "as-chat", chat(() => ({}), last(500, 1), [{ type: "text", text: PIECE }])],
  ["message_delta without usage", "as-messages", messages({ usage: { input_tokens: 500, output_tokens: 1 } }, {})],
  [
    "zeros in message_delta",
    "as-messages",
    messages({ usage: { input_tokens: 0, output_tokens: 0 } }, { usage: { output_tokens: 0 } }),
  ],
  [
    "two classes of 9e15",
    "as-messages",
    messages({ usage: { input_tokens: 9e15, cache_read_input_tokens: 9e15 } }, { usage: { output_tokens: 9e15 } }),
  ],
];

test.for(hostile.flatMap((row) => ["/v1/chat/completions", "/v1/messages"].map((path) => [path, ...row] as const)))(
  "%s, %s: delivered tokens are charged and flagged, and the account keeps working (S28, S38)",
  async ([path, , model, text]) => {
    answer = streams(text);
    const response = await ask({ model, path });
    expect(response.status).toBe(200);
    await response.text();
    const row = await usageOf(response);
    expect(row).toMatchObject({ outcome: "complete", isEstimated: true });
    expect(row.usage.outputTokens).toBeGreaterThanOrEqual(380);
    expect(row.usage.outputTokens).toBeLessThanOrEqual(440);
    expect(row.usage.inputTokens).toBeGreaterThanOrEqual(450);
    expect(row.usage.inputTokens).toBeLessThanOrEqual(600);
    expect(row.usage.cachedInputTokens).toBe(0);
  },
);

test.for([
  ["/v1/chat/completions", "as-chat", last(500, 120_000, { completion_tokens_details: { reasoning_tokens: 119_000 } })],
  ["/v1/messages", "as-chat", last(500, 120_000)],
  ["/v1/chat/completions", "as-messages", messages({ usage: { input_tokens: 500 } }, { usage: { output_tokens: 120_000 } })],
  ["/v1/messages", "as-messages", messages({ usage: { input_tokens: 500 } }, { usage: { output_tokens: 120_000 } })],
] as const)(
  "%s, %s: a report far above the limit is charged up to the limit, and flagged (S30, S38)",
  async ([path, model, text]) => {
    answer = streams(text);
    const response = await ask({ model, path });
    await response.text();
    expect(await usageOf(response)).toMatchObject({
      outcome: "complete",
      isEstimated: true,
      usage: { inputTokens: 500, outputTokens: 1_000 },
    });
  },
);

test.for<[string, object]>([
  ["x_groq", { usage: {}, x_groq: usage(500, 410) }],
  ["the second choice", { usage: {}, choices: [{ index: 0 }, { index: 1, ...usage(500, 410) }] }],
])("an empty report does not hide the one in %s (S28)", async ([, report]) => {
  answer = streams(chat(() => ({}), `${FINISH}data: ${JSON.stringify({ id: "c", choices: [], ...report })}\n\ndata: [DONE]\n\n`));
  const response = await ask({ model: "as-chat" });
  await response.text();
  expect(await usageOf(response)).toMatchObject({ isEstimated: false, usage: { inputTokens: 500, outputTokens: 410 } });
});

test("each of them is counted, by model and fault", async () => {
  const anomalies = await countAnomalies();
  for (const anomaly of ["stale", "falling", "short", "empty", "impossible", "over_limit"])
    expect(anomalies.get(anomaly), anomaly).toBeGreaterThan(anomaliesBefore.get(anomaly) ?? 0);
});

const completion = (finishReason: string) => ({
  id: "c",
  object: "chat.completion",
  choices: [{ index: 0, message: { role: "assistant", content: PIECE }, finish_reason: finishReason }],
  usage: { prompt_tokens: 500, completion_tokens: 400 },
});

test.for([
  ["/v1/messages", "insufficient_system_resource", 503],
  ["/v1/messages", "error", 502],
  ["/v1/chat/completions", "insufficient_system_resource", 503],
  ["/v1/chat/completions", "error", 502],
] as const)("%s: an answer that ends with %s is a %d that costs nothing (S38)", async ([path, finishReason, status]) => {
  answer = (_request, response) =>
    void response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(completion(finishReason)));
  const response = await ask({ model: "as-chat", path, isStream: false });
  expect(response.status).toBe(status);
  expect(await usageOf(response)).toMatchObject({ outcome: "failed", chargeNanoUsd: 0n });
});

test.for(["/v1/messages", "/v1/chat/completions"])(
  "%s: a stream whose finish reason is a failure ends with an error, and what was delivered is charged (S22, S38)",
  async (path) => {
    answer = streams(chat(() => ({}), last(500, 410).replace('"stop"', '"error"')));
    const response = await ask({ model: "as-chat", path });
    expect(await response.text()).toMatch(/ten words.*before its answer was complete/s);
    expect(await usageOf(response)).toMatchObject({ outcome: "failed", isEstimated: false, usage: { outputTokens: 410 } });
  },
);

test.for(["/v1/chat/completions", "/v1/messages"])(
  "%s: an unrequested stream that breaks is a 502 that costs nothing (S38)",
  async (path) => {
    answer = streams(chat((piece) => usage(500, 10 * piece), ""));
    const response = await ask({ model: "as-chat", path, isStream: false });
    expect(response.status).toBe(502);
    expect(await usageOf(response)).toMatchObject({ outcome: "failed", chargeNanoUsd: 0n });
  },
);

/** Sends so much, and no more. */
function stallsBehind(text: string): { answer: ModelAnswer; closed: Promise<void> } {
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  return {
    closed,
    answer: (_request, response) => {
      response.once("close", () => resolve());
      response.writeHead(200, { "content-type": "text/event-stream" }).write(text);
    },
  };
}

async function leaveBehind(content: unknown, text: string): Promise<UsageRow> {
  const stalled = stallsBehind(text);
  answer = stalled.answer;
  const leaving = new AbortController();
  const response = await ask({ model: "as-chat", content, signal: leaving.signal });
  const reader = response.body?.getReader();
  await reader?.read();
  leaving.abort();
  await reader?.closed.catch(() => {});
  await stalled.closed;
  return await usageOf(response);
}

test("a client that disconnects from a stream with early usage pays for what it received (S28)", async () => {
  const row = await leaveBehind(PROMPT, chunk({ content: "" }, usage(500, 0)) + chunk({ content: PIECE.repeat(26) }));
  expect(row).toMatchObject({ outcome: "aborted", isEstimated: true, usage: { inputTokens: 500, outputTokens: 260 } });
});

test("a picture in a prompt that is cut short costs what a picture costs, whatever its size in bytes (S28)", async () => {
  const url = `data:image/png;base64,iVBORw0KGgo${"A".repeat(6_000_000)}`;
  const row = await leaveBehind([{ type: "image_url", image_url: { url } }], chunk({ content: "A" }));
  expect(row).toMatchObject({ outcome: "aborted", isEstimated: true });
  expect(row.usage.inputTokens).toBeGreaterThanOrEqual(1_600);
  expect(row.usage.inputTokens).toBeLessThan(1_800);
});

test("a client that always disconnects before the answer pays for its prompts once its allowance is used (S28)", async () => {
  const customer = await stack().createAccount({ name: "leaves-early", creditNanoUsd: 10_000_000_000n });
  // At 100 USD a million tokens each is about 0.043 USD: two are free.
  for (let time = 0; time < 3; time++) {
    const leaving = new AbortController();
    answer = () => leaving.abort();
    const request = fetch(`${stack().baseUrl}/v1/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${customer.apiKey}` },
      body: JSON.stringify({ model: "as-chat", max_tokens: 10, messages: [{ role: "user", content: "word ".repeat(320) }] }),
      signal: leaving.signal,
    });
    await expect(request).rejects.toThrow("aborted");
  }
  await stack().idle();
  const charged = await eventually(async () => {
    const left = await stack().balanceNanoUsd(customer.accountId);
    expect(left).toBeLessThan(10_000_000_000n);
    return 10_000_000_000n - left;
  });
  expect(charged).toBeGreaterThan(40_000_000n);
  expect(charged).toBeLessThan(50_000_000n);
});

const continuation = JSON.stringify({ content: PIECE });
const inEvent = (text: string) => event("content_block_delta", { index: 0, delta: { type: "text_delta", text } });
const messageStart = event("message_start", {
  message: { id: "m", type: "message", role: "assistant", model: "m", content: [] },
});
const endless: [string, Asked["model"], string, string][] = [
  [
    "an empty finish_reason with each chunk",
    "as-chat",
    "",
    chunk({}, { choices: [{ delta: { content: PIECE }, finish_reason: "" }] }),
  ],
  ["text behind its finish_reason", "as-chat", chunk({ content: "a" }) + FINISH, chunk({ content: PIECE })],
  ["events without choices", "as-chat", "", `data: ${continuation}\n\n`],
  ["text behind message_stop", "as-messages", messageStart + event("message_stop", {}), inEvent(PIECE)],
];

/** The piece 2,000 times, unless it is stopped. */
const sendsOn =
  (start: string, piece: string): ModelAnswer =>
  async (_request, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" }).write(start);
    for (let sent = 0; sent < 200 && !response.destroyed; sent++) {
      response.write(piece.repeat(10));
      await sleep(2);
    }
    response.end();
  };

test.for(endless)(
  "%s: passed tokens are charged, and the stream ends when credit runs out (S30)",
  async ([name, model, start, piece]) => {
    // 2,000 tokens; the server would send 20,000.
    const credit = 200_000_000n;
    const poor = await stack().createAccount({
      name: `endless-${String(endless.findIndex(([other]) => other === name))}`,
      creditNanoUsd: credit,
    });
    answer = sendsOn(start, piece);
    const path = model === "as-chat" ? "/v1/chat/completions" : "/v1/messages";
    const response = await ask({ model, path, content: "hi", apiKey: poor.apiKey });
    await response.text();
    const row = await usageOf(response);
    expect(row.usage.outputTokens).toBeGreaterThan(1_000);
    const balance = await eventually(async () => {
      const posted = await stack().balanceNanoUsd(poor.accountId);
      expect(posted).toBeLessThan(credit);
      return posted;
    });
    // A stretch of 256 tokens, and what was on its way.
    expect(balance).toBeGreaterThan(-100_000_000n);
  },
);

const behindErrors: [string, Asked["model"], string, string][] = [
  ["text behind a [DONE] without an answer", "as-chat", "data: [DONE]\n\n", chunk({ content: PIECE })],
  ["an error beside each text", "as-chat", "", chunk({ content: PIECE }, { error: {} })],
  ["text behind an error", "as-messages", messageStart + event("error", { error: { type: "api_error" } }), inEvent(PIECE)],
];

test.for(behindErrors)("%s: none of it passes or is charged", async ([, model, start, piece]) => {
  answer = sendsOn(start, piece);
  const path = model === "as-chat" ? "/v1/chat/completions" : "/v1/messages";
  const response = await ask({ model, path, content: "hi" });
  const text = await response.text();
  expect(text).toContain('"error"');
  expect(text).not.toContain(PIECE);
  const { outcome, usage } = await usageOf(response);
  expect({ outcome, outputTokens: usage.outputTokens }).toEqual({ outcome: "failed", outputTokens: 0 });
});

test("none of this leaves credit held or a charge unsettled", async () => {
  const metrics = await stack().idle();
  expect(metrics.get("gateway_open_holds")).toBe(0);
  expect(stack().complaints.filter((line) => /refuses a settlement|failed inside/.test(line))).toEqual([]);
});
