import { readFile } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import { describe, expect, test } from "vitest";
import { takeDescriptors } from "../../support/stacks/descriptors.ts";
import { eventually } from "../../support/eventually.ts";
import { onlyRow } from "../../support/billing/settlement.ts";
import { DEAR, useScriptedModelsOfWorkers, type ModelAnswer } from "../../support/servers/scripted-models.ts";
import type { UsageRow } from "../../support/stacks/product.ts";

/** Streams that the gateway answers before their model server does, through a real Envoy (S41). */

/** What the model server does for requests whose content names the script: tests run side by side. */
const scripts = new Map<string, ModelAnswer>();
const stack = useScriptedModelsOfWorkers(
  // Each request has to find the worker that has it.
  2,
  (request, response, body) => scripts.get(/script-\d+/.exec(body)?.[0] ?? "")?.(request, response, body),
  (url) => {
    const only = { name: "only", protocol: "chat", url } as const;
    const streaming = { keepAlive: "1s", answerAfter: "1s" };
    return [
      { name: "single", backends: [only], pricing: DEAR, streaming },
      { name: "several", backends: [only, { ...only, name: "spare", priority: 1 }], pricing: DEAR, streaming },
      { name: "hurried", backends: [only], pricing: DEAR, streaming, timeouts: { firstByte: "3s" } },
      { name: "cheap", backends: [only], pricing: CHEAP, streaming, maxOutputTokens: 500_000_000 },
      { name: "patient", backends: [only], pricing: DEAR, streaming: { keepAlive: "1s", answerAfter: "1h" } },
    ];
  },
);

const CHEAP = { inputPerMillion: "0.0001", outputPerMillion: "0.0001" };

interface Asked {
  /** The model server's behavior. */
  answer: ModelAnswer;
  model: string;
  path?: string;
  isStream?: boolean;
  signal?: AbortSignal;
  content?: string;
  apiKey?: string;
}

function ask({
  answer,
  model,
  path = "/v1/chat/completions",
  isStream = true,
  signal,
  content = "Hello",
  apiKey,
}: Asked): Promise<Response> {
  const script = `script-${scripts.size}`;
  scripts.set(script, answer);
  const text = `${script} ${content}`;
  return fetch(stack().baseUrl + path, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${apiKey ?? stack().apiKey}` },
    body: JSON.stringify({
      model,
      stream: isStream,
      ...(path === "/v1/responses"
        ? { input: text }
        : { max_tokens: model === "cheap" ? 400_000_000 : 1_000, messages: [{ role: "user", content: text }] }),
    }),
    signal,
  });
}

const idOf = (response: Response) => response.headers.get("x-request-id") ?? "";
const later = (work: () => void, afterMs = 2_500) => void setTimeout(work, afterMs);

const STREAM = { "content-type": "text/event-stream" };
const JSON_TYPE = { "content-type": "application/json" };
const chunk = (delta: object, finish: string | null = null) =>
  `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, model: "m", choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
const USAGE = `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, model: "m", choices: [], usage: { prompt_tokens: 9, completion_tokens: 3, total_tokens: 12 } })}\n\n`;
const WHOLE_STREAM = `${chunk({ role: "assistant", content: "one two three" })}${chunk({}, "stop")}${USAGE}data: [DONE]\n\n`;

const PATHS = [
  {
    path: "/v1/chat/completions",
    sign: ": keep-alive\n\n",
    end: "data: [DONE]",
    error: /\n\ndata: (\{"error":.*\})\nevent: error\n\n$/,
  },
  {
    path: "/v1/messages",
    sign: 'event: ping\ndata: {"type": "ping"}\n\n',
    end: "event: message_stop",
    error: /\n\nevent: error\ndata: (.*)\n\n$/,
  },
  {
    path: "/v1/responses",
    sign: ": keep-alive\n\n",
    end: "event: response.completed",
    error: /\n\nevent: (?:error|response\.failed)\ndata: (.*)\n\n$/,
  },
];

/** Reads to the end. @returns what came within the time, and the whole. */
async function readBy(response: Response, withinMs: number): Promise<{ early: string; whole: string }> {
  if (response.body === null) throw new Error("the response has no body");
  const untilMs = Date.now() + withinMs;
  const decoder = new TextDecoder();
  let early = "";
  let whole = "";
  for await (const bytes of response.body) {
    const text = decoder.decode(bytes, { stream: true });
    whole += text;
    if (Date.now() < untilMs) early += text;
  }
  return { early, whole };
}

// First: servers that have failed are not asked for a while.
test("a second server answers after the early answer, if the first one fails", async () => {
  let asked = 0;
  const answer: ModelAnswer = (_request, response) => {
    asked += 1;
    if (asked === 1) later(() => response.writeHead(500, JSON_TYPE).end("{}"), 1_500);
    else response.writeHead(200, STREAM).end(WHOLE_STREAM);
  };
  const response = await ask({ answer, model: "several" });
  expect(await response.text()).toContain("one two three");
  expect(asked).toBe(2);
  expect(await onlyRow(stack(), idOf(response))).toMatchObject({ outcome: "complete", backend: "spare" });
});

describe.concurrent("with one backend", () => {
  streams("single", PATHS);
});

// Failures keep a server from being asked for a while: one test after the other.
describe("with several backends", () => {
  streams("several", PATHS.slice(0, 1));
});

function streams(model: string, paths: typeof PATHS): void {
  describe.each(paths)("on $path", ({ path, sign, end, error }) => {
    test("a client of a server that is silent before its headers gets a keep-alive, and its complete answer", async () => {
      const closed = Promise.withResolvers<void>();
      const answer: ModelAnswer = (_request, response) =>
        later(() => response.writeHead(200, STREAM).end(WHOLE_STREAM, closed.resolve));
      const response = await ask({ answer, model, path });
      expect(response.status).toBe(200);
      expect(response.headers.get("content-type")).toBe("text/event-stream");
      expect([...response.headers.keys()].filter((name) => name.startsWith("x-gateway"))).toEqual([]);
      const text = await response.text();
      expect(text.startsWith(sign)).toBe(true);
      expect(text.split(sign).length).toBeGreaterThan(2);
      expect(text).toContain("one two three");
      expect(text).toContain(end);
      expect(await onlyRow(stack(), idOf(response))).toMatchObject({
        outcome: "complete",
        httpStatus: 200,
        isEstimated: false,
        usage: { inputTokens: 9, outputTokens: 3 },
      });
    });

    test("an error after the early answer is the protocol's error event, and free", async () => {
      const body = JSON.stringify({ error: { message: "Too many requests of this kind.", type: "rate_limit_error" } });
      const answer: ModelAnswer = (_request, response) => later(() => response.writeHead(429, JSON_TYPE).end(body), 1_500);
      const response = await ask({ answer, model, path });
      expect(response.status).toBe(200);
      const text = await response.text();
      expect(error.exec(text)?.[1]).toMatch(/rate|Too many/);
      expect(text).not.toContain(end);
      expect(await onlyRow(stack(), idOf(response))).toMatchObject({ outcome: "failed", chargeNanoUsd: 0n });
    });

    test("a server that breaks off before its first chunk is an error event, and free", async () => {
      const answer: ModelAnswer = (request, response) => {
        response.writeHead(200, STREAM).flushHeaders();
        later(() => request.socket.resetAndDestroy(), 300);
      };
      const response = await ask({ answer, model, path });
      expect(response.status).toBe(200);
      expect(error.exec(`\n\n${await response.text()}`)?.[1]).toContain("The model server");
      expect(await onlyRow(stack(), idOf(response))).toMatchObject({ outcome: "truncated", chargeNanoUsd: 0n });
    });

    test("a server that breaks off in its answer is an error event, and delivered tokens are charged", async () => {
      const answer: ModelAnswer = (request, response) =>
        later(() => {
          response.writeHead(200, STREAM).write(chunk({ role: "assistant", content: "one two three" }));
          later(() => request.socket.resetAndDestroy(), 200);
        });
      const text = await (await ask({ answer, model, path })).text();
      expect(text).toContain("one two three");
      expect(error.exec(text)?.[1]).toContain("The model server");
    });
  });

  test("a server that sends headers and then nothing: its client gets a keep-alive before the first chunk", async () => {
    const answer: ModelAnswer = (_request, response) => {
      response.writeHead(200, STREAM).flushHeaders();
      later(() => response.end(WHOLE_STREAM), 3_500);
    };
    const response = await ask({ answer, model });
    const { early, whole } = await readBy(response, 3_000);
    expect(early).toMatch(/^: /);
    expect(early).not.toContain("data:");
    expect(whole).toContain("one two three");
    expect(await onlyRow(stack(), idOf(response))).toMatchObject({ outcome: "complete", usage: { outputTokens: 3 } });
  });

  test("a server that answers a stream with one JSON document late: the client gets a stream", async () => {
    const document = {
      id: "c",
      object: "chat.completion",
      created: 1,
      model: "m",
      choices: [{ index: 0, message: { role: "assistant", content: "one two three" }, finish_reason: "stop" }],
      usage: { prompt_tokens: 9, completion_tokens: 3, total_tokens: 12 },
    };
    const answer: ModelAnswer = (_request, response) =>
      later(() => response.writeHead(200, JSON_TYPE).end(JSON.stringify(document)), 1_500);
    const response = await ask({ answer, model });
    const text = await response.text();
    expect(text).toContain("one two three");
    expect(text).toContain("data: [DONE]");
    expect(await onlyRow(stack(), idOf(response))).toMatchObject({ outcome: "complete", usage: { outputTokens: 3 } });
  });

  test("a client that disconnects while it waits cancels the server's work, and pays for a prompt beyond its allowance", async () => {
    const rows: UsageRow[] = [];
    // An account may leave prompts of 0.10 USD behind; these are of 0.01 and 0.20 USD.
    for (const words of [100, 2_000]) {
      const customer = await stack().createAccount({ name: `leaves-${model}-${words}`, creditNanoUsd: 10_000_000_000n });
      const left = Promise.withResolvers<void>();
      const answer: ModelAnswer = (_request, response) => void response.once("close", left.resolve);
      const client = new AbortController();
      const content = "word ".repeat(words);
      const response = await ask({ answer, model, content, signal: client.signal, apiKey: customer.apiKey });
      expect(response.status).toBe(200);
      client.abort();
      await left.promise;
      rows.push(await onlyRow(stack(), idOf(response)));
    }
    expect(rows[0]).toMatchObject({ outcome: "aborted", httpStatus: 499, chargeNanoUsd: 0n });
    expect(rows[1]).toMatchObject({ outcome: "aborted", httpStatus: 499, isEstimated: true });
    expect(rows[1]?.chargeNanoUsd).toBeGreaterThan(150_000_000n);
  });

  test("a prompt of one megabyte arrives complete", async () => {
    let received = 0;
    const answer: ModelAnswer = (_request, response, body) => {
      received = body.length;
      later(() => response.writeHead(200, STREAM).end(WHOLE_STREAM), 1_500);
    };
    const response = await ask({ answer, model, content: "words ".repeat(170_000) });
    expect(response.status).toBe(200);
    expect(await response.text()).toContain("[DONE]");
    expect(received).toBeGreaterThan(1_000_000);
  });

  test("a request that is not streamed waits for its server", async () => {
    const answer: ModelAnswer = (_request, response) => later(() => response.writeHead(500, JSON_TYPE).end("{}"), 1_500);
    expect((await ask({ answer, model, isStream: false })).status).toBe(500);
  });
}

test(
  "a client that reads nothing stops the model server, and gets the complete answer when it resumes reading",
  { timeout: 120_000 },
  async () => {
    const pieces = 1_000;
    const piece = Buffer.from(chunk({ content: "x".repeat(64 * 1024) }));
    let sent = 0;
    const answer: ModelAnswer = (_request, response) => {
      const more = (response: ServerResponse) => {
        while (sent < pieces) {
          sent += 1;
          if (!response.write(piece)) return void response.once("drain", () => more(response));
        }
        response.end(WHOLE_STREAM);
      };
      later(() => more(response.writeHead(200, STREAM)), 1_500);
    };
    const response = await ask({ answer, model: "cheap" });
    expect(response.status).toBe(200);
    let seen = -1;
    await eventually(
      () => {
        const earlier = seen;
        seen = sent;
        expect(seen).toBeGreaterThan(0);
        expect(seen).toBe(earlier);
      },
      { withinMs: 60_000, everyMs: 2_000 },
    );
    // Of 64 MiB: what the buffers on the way hold, and the kernel's.
    expect(seen).toBeLessThan(pieces / 2);
    let bytes = 0;
    for await (const part of response.body ?? []) bytes += part.length;
    expect(sent).toBe(pieces);
    expect(bytes).toBeGreaterThan(pieces * piece.length);
  },
);

test("the longest allowed prompt arrives complete", { timeout: 120_000 }, async () => {
  let received = 0;
  const answer: ModelAnswer = (_request, response, body) => {
    received = body.length;
    response.writeHead(200, STREAM).end(WHOLE_STREAM);
  };
  const response = await ask({ answer, model: "cheap", content: "words ".repeat(5_580_000) });
  expect(await response.text()).toContain("[DONE]");
  expect(received).toBeGreaterThan(5_580_000 * 6);
});

test("without file descriptors for the relay, the client is asked to retry", { timeout: 120_000 }, async () => {
  const answer: ModelAnswer = (_request, response) => void response.writeHead(200, STREAM).end(WHOLE_STREAM);
  const supervisor = stack().pids["extproc"] ?? 0;
  const children = await readFile(`/proc/${supervisor}/task/${supervisor}/children`, "utf8");
  const workers = children.trim().split(" ").map(Number);
  expect(workers).toHaveLength(2);
  const taken = await Promise.all(workers.map(takeDescriptors));
  const refused = await ask({ answer, model: "cheap" });
  expect(refused.status).toBe(503);
  expect(await refused.text()).toContain("error");
  for (const { giveBack } of taken) await giveBack();
  expect(await (await ask({ answer, model: "cheap" })).text()).toContain("[DONE]");
});

// Last: servers that asked for time are not asked for a while.
test.each(["single", "several"])("a %s server that answers in time keeps its status code and its retry-after", async (model) => {
  const answer: ModelAnswer = (_request, response) =>
    void response.writeHead(429, { ...JSON_TYPE, "retry-after": "7" }).end('{"error":{"message":"Wait."}}');
  const response = await ask({ answer, model });
  expect(response.status).toBe(429);
  expect(response.headers.get("retry-after")).toBe("7");
  expect(response.headers.get("content-type")).toBe("application/json");
});

test("a Model's firstByte timeout ends the stream with an error event after the early answer", async () => {
  const response = await ask({ answer: () => {}, model: "hurried" });
  expect(response.status).toBe(200);
  expect(await response.text()).toContain("The model server did not answer in time. Try again.");
  expect(await onlyRow(stack(), idOf(response))).toMatchObject({ outcome: "failed", httpStatus: 504, chargeNanoUsd: 0n });
});

test("a server that fails in time keeps its status code, and none of its headers turns it into an early answer", async () => {
  const answer: ModelAnswer = (_request, response) =>
    void response.writeHead(503, { ...JSON_TYPE, "x-gateway-early-answer": "1" }).end("{}");
  expect((await ask({ answer, model: "patient" })).status).toBeGreaterThanOrEqual(500);
  const begins: ModelAnswer = (_request, response) =>
    void response.writeHead(200, { ...STREAM, "x-gateway-early-answer": "1" }).end(WHOLE_STREAM);
  const response = await ask({ answer: begins, model: "patient" });
  expect(await response.text()).toContain("one two three");
});

test("a server's header that HTTP/2 forbids is left out, without further effect", async () => {
  const answer: ModelAnswer = (_request, response) => void response.writeHead(200, { ...STREAM, te: "gzip" }).end(WHOLE_STREAM);
  const response = await ask({ answer, model: "patient" });
  expect([response.status, await response.text()]).toEqual([200, expect.stringContaining("one two three")]);
});

test("early answers are counted", async () => {
  const page = await (await fetch(`${stack().extprocAdminUrl}/metrics`)).text();
  expect(page).toMatch(/^gateway_early_answers_total\{.*model="single".*\} [1-9]/m);
  expect(page).not.toMatch(/^gateway_early_answers_total\{.*model="patient"/m);
});

test("nothing is left behind", async () => {
  const metrics = await stack().idle();
  expect(metrics.get("gateway_internal_failures_total")).toBe(0);
  expect(metrics.get("gateway_open_holds")).toBe(0);
  await eventually(async () => {
    const page = await (await fetch(`${stack().extprocAdminUrl}/metrics`)).text();
    expect(page).toMatch(/^gateway_open_streams(\{.*\})? 0$/m);
  });
});
