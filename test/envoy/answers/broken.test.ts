import { describe, expect, test } from "vitest";
import { eventually } from "../../support/eventually.ts";
import { onlyRow } from "../../support/billing/settlement.ts";
import { DEAR, useScriptedModels, type ModelAnswer } from "../../support/servers/scripted-models.ts";
import type { UsageRow } from "../../support/stacks/product.ts";

/** Which side ended an answer, through a real Envoy: what the client reads, and what the gateway books (S22, S28, S41). */

let answer: ModelAnswer = () => {};
const stack = useScriptedModels(
  (request, response, body) => answer(request, response, body),
  (url) => {
    const only = { name: "only", protocol: "chat", url } as const;
    return [
      { name: "single", backends: [only], pricing: DEAR },
      { name: "several", backends: [only, { ...only, name: "spare", priority: 1 }], pricing: DEAR },
      { name: "lively", backends: [only], pricing: DEAR, streaming: { keepAlive: "1s" } },
      { name: "still", backends: [only], pricing: DEAR, streaming: { keepAlive: "1h" } },
    ];
  },
);

interface Asked {
  model: string;
  path?: string;
  isStream?: boolean;
  signal?: AbortSignal;
  content?: string;
}

function ask({ model, path = "/v1/chat/completions", isStream = true, signal, content = "Hello" }: Asked): Promise<Response> {
  return fetch(stack().baseUrl + path, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${stack().apiKey}` },
    body: JSON.stringify({
      model,
      stream: isStream,
      ...(path === "/v1/responses" ? { input: content } : { max_tokens: 1_000, messages: [{ role: "user", content }] }),
    }),
    signal,
  });
}

const idOf = (response: Response) => response.headers.get("x-request-id") ?? "";

const chunk = (content: string) =>
  `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, model: "m", choices: [{ index: 0, delta: { content }, finish_reason: null }] })}\n\n`;

const STREAM = { "content-type": "text/event-stream" };
const BROKEN_OFF = /The model server(?: stopped in the middle of its answer|'s answer ended before it was complete)\./;

/** Sends a few tokens, then ends the connection in the given way. */
const breaksOff =
  (how: "reset" | "close"): ModelAnswer =>
  (request, response) => {
    response.writeHead(200, STREAM).write(chunk("one two three"));
    setTimeout(() => (how === "reset" ? request.socket.resetAndDestroy() : request.socket.destroy()), 200);
  };

async function failuresOf(model: string): Promise<number> {
  const page = await (await fetch(`${stack().extprocAdminUrl}/metrics`)).text();
  const counted = new RegExp(
    `^gateway_upstream_failures_total\\{[^}]*model="${model}",code="upstream_error"[^}]*\\} (\\d+)$`,
    "m",
  );
  return Number(counted.exec(page)?.[1] ?? 0);
}

describe.each(["single", "several"])("a Model with a %s backend", (model) => {
  describe.each(["reset", "close"] as const)("whose server breaks off with a %s of its connection", (how) => {
    test.each([
      ["/v1/chat/completions", /\n\ndata: (\{"error":.*\})\nevent: error\n\n$/],
      ["/v1/messages", /\n\nevent: error\ndata: (\{"type":"error".*\})\n\n$/],
      ["/v1/responses", /\n\nevent: (?:error|response\.failed)\ndata: (.*)\n\n$/],
    ])(
      "ends the client's stream on %s with the protocol's error event, and is recorded as the server's failure",
      async (path, last) => {
        answer = breaksOff(how);
        const failures = await failuresOf(model);
        const response = await ask({ model, path });
        expect(response.status).toBe(200);
        const text = await response.text();
        expect(text).toContain("one two three");
        expect(last.exec(text)?.[1]).toMatch(BROKEN_OFF);
        const row = await onlyRow(stack(), idOf(response));
        expect(row).toMatchObject({ outcome: "truncated", httpStatus: 200, isEstimated: true });
        expect(row.chargeNanoUsd).toBeGreaterThan(0n);
        expect(await failuresOf(model)).toBe(failures + 1);
      },
    );
  });

  describe.each([
    ["an error", 'data: {"error":{"message":"CUDA out of memory","type":"server_error"}}\n\n'],
    ["an event that is no JSON", "data: <html>\n\n"],
  ])("whose server sends %s within its stream", (_, event) => {
    test.each(["/v1/chat/completions", "/v1/messages", "/v1/responses"])(
      "is recorded as failed on %s, whether or not the client waits for the end",
      async (path) => {
        for (const waits of [true, false]) {
          answer = (_request, response) => {
            response.writeHead(200, STREAM).write(chunk("one two three"));
            response.write(event);
            if (waits) response.end();
          };
          const failures = await failuresOf(model);
          const client = new AbortController();
          const response = await ask({ model, path, signal: client.signal });
          let text = "";
          for await (const bytes of response.body ?? []) {
            text += Buffer.from(bytes).toString("utf8");
            if (!waits && text.includes("error")) break;
          }
          client.abort();
          expect(await onlyRow(stack(), idOf(response))).toMatchObject({ outcome: "failed", httpStatus: 200 });
          await eventually(async () => expect(await failuresOf(model)).toBe(failures + 1));
        }
      },
    );
  });

  test("whose server breaks off after its headers: the failure is the server's, and the request is free", async () => {
    answer = (request, response) => {
      response.writeHead(200, STREAM).flushHeaders();
      setTimeout(() => request.socket.resetAndDestroy(), 200);
    };
    const failures = await failuresOf(model);
    // Longer than the account may leave behind for nothing.
    const response = await ask({ model, content: "word ".repeat(4_000) });
    await expect(response.text()).rejects.toThrow(/terminated/);
    expect(await onlyRow(stack(), idOf(response))).toMatchObject({ outcome: "truncated", chargeNanoUsd: 0n });
    expect(await failuresOf(model)).toBe(failures + 1);
  });

  test("whose server breaks off in a complete answer: the failure is the server's, and the request is free", async () => {
    let requestId = "";
    answer = (request, response) => {
      requestId = String(request.headers["x-request-id"]);
      response.writeHead(200, { "content-type": "application/json", "content-length": 1_000 }).write('{"id":');
      setTimeout(() => request.socket.resetAndDestroy(), 200);
    };
    const failures = await failuresOf(model);
    const asked = ask({ model, isStream: false });
    expect(await (await asked).json()).toMatchObject({
      error: { message: expect.stringMatching(/^The model server/), code: "upstream_error" },
    });
    expect(await onlyRow(stack(), requestId)).toMatchObject({ outcome: "failed", httpStatus: 502, chargeNanoUsd: 0n });
    expect(await failuresOf(model)).toBe(failures + 1);
  });

  test("a client that disconnects between the headers and the first token pays for a prompt beyond its allowance", async () => {
    const failures = await failuresOf(model);
    const customer = await stack().createAccount({ name: `leaves-${model}`, creditNanoUsd: 10_000_000_000n });
    answer = (_request, response) => response.writeHead(200, STREAM).flushHeaders();
    const rows: UsageRow[] = [];
    for (let turn = 0; turn < 2; turn++) {
      const client = new AbortController();
      const response = await fetch(`${stack().baseUrl}/v1/chat/completions`, {
        method: "POST",
        headers: { authorization: `Bearer ${customer.apiKey}` },
        // About 0.077 USD; an account may leave 0.10 behind.
        body: JSON.stringify({
          model,
          max_tokens: 10,
          stream: true,
          messages: [{ role: "user", content: "word ".repeat(600) }],
        }),
        signal: client.signal,
      });
      client.abort();
      rows.push(await onlyRow(stack(), idOf(response)));
    }
    expect(rows[0]).toMatchObject({ outcome: "aborted", httpStatus: 499, chargeNanoUsd: 0n });
    expect(rows[1]).toMatchObject({ outcome: "aborted", httpStatus: 499, isEstimated: true });
    expect(rows[1]?.chargeNanoUsd).toBeGreaterThan(50_000_000n);
    expect(await failuresOf(model)).toBe(failures);
  });
});

describe("a server that continues after its ending", () => {
  const finish = `data: ${JSON.stringify({ id: "c", choices: [{ index: 0, delta: {}, finish_reason: "stop" }] })}\n\n`;
  const usage = `data: ${JSON.stringify({ id: "c", choices: [], usage: { prompt_tokens: 9, completion_tokens: 3 } })}\n\n`;
  const done = "data: [DONE]\n\n";
  const empty = `data: ${JSON.stringify({ id: "c", choices: [] })}\n\n`;
  let closed: Promise<void>;

  /** Then sends the piece again and again, and never ends. */
  const continuation =
    (ending: string, piece: string, everyMs: number): ModelAnswer =>
    (_request, response) => {
      response.writeHead(200, STREAM).write(chunk("one two three") + ending);
      const sending = setInterval(() => response.write(piece), everyMs);
      const { promise, resolve } = Promise.withResolvers<void>();
      closed = promise;
      response.once("close", () => {
        clearInterval(sending);
        resolve();
      });
    };

  describe.each(["/v1/chat/completions", "/v1/messages", "/v1/responses"])("on %s", (path) => {
    test.each([
      ["empty chunks behind [DONE]", finish + usage + done, empty, 100],
      ["comments behind its usage", finish + usage, ": still here\n\n", 100],
      ["empty chunks by the megabyte behind its finish", finish + usage, empty.repeat(1_000), 5],
    ])("by %s is cut off, and its answer is complete", async (_, ending, piece, everyMs) => {
      answer = continuation(ending, piece, everyMs);
      const response = await ask({ model: "single", path });
      expect(await response.text()).toContain("one two three");
      await closed;
      expect(await onlyRow(stack(), idOf(response))).toMatchObject({
        outcome: "complete",
        isEstimated: false,
        usage: { inputTokens: 9, outputTokens: 3 },
      });
    });
  });

  test("has five seconds to report its usage", async () => {
    answer = (_request, response) => {
      response.writeHead(200, STREAM).write(chunk("one two three") + finish);
      setTimeout(() => response.end(usage + done), 2_000);
    };
    const response = await ask({ model: "single", path: "/v1/messages" });
    await response.text();
    expect(await onlyRow(stack(), idOf(response))).toMatchObject({ outcome: "complete", usage: { outputTokens: 3 } });
  });

  test("has more time while its report of usage arrives, but not forever", async () => {
    const slowly =
      (text: string, everyMs: number): ModelAnswer =>
      (_request, response) => {
        response.writeHead(200, STREAM).write(chunk("one two three") + finish);
        const pieces = text.match(/[^]{1,20}/g) ?? [];
        const sending = setInterval(() => {
          const piece = pieces.shift();
          if (piece === undefined) response.end();
          else response.write(piece);
        }, everyMs);
        response.once("close", () => clearInterval(sending));
      };
    answer = (request, response, body) =>
      (body.includes("reports") ? slowly(usage + done, 1_500) : slowly(": still here\n\n".repeat(100), 500))(
        request,
        response,
        body,
      );
    const rows = ["reports", "does not"].map(async (content) => {
      const response = await ask({ model: "single", path: "/v1/messages", content });
      await response.text();
      return onlyRow(stack(), idOf(response));
    });
    expect(await Promise.all(rows)).toMatchObject([
      { outcome: "complete", isEstimated: false, usage: { outputTokens: 3 } },
      { outcome: "complete", isEstimated: true },
    ]);
  });
});

describe("a stream with data that is not JSON (S38)", () => {
  test.each(["/v1/chat/completions", "/v1/messages", "/v1/responses"])("ends with the error event of %s", async (path) => {
    answer = (_request, response) =>
      void response.writeHead(200, STREAM).end(`${chunk("one two three")}data: free words\n\n${chunk("four")}data: [DONE]\n\n`);
    const response = await ask({ model: "single", path });
    const text = await response.text();
    expect(text).toContain("one two three");
    expect(text).toMatch(
      /"message":"The model server (?:sent an (?:event|answer) that is not (?:a JSON object|valid JSON)|sent no usable answer)\./,
    );
    expect(text).not.toMatch(/free words|four/);
    expect(await onlyRow(stack(), idOf(response))).toMatchObject({ outcome: "failed", isEstimated: true });
  });
});

describe("a complete answer with text where no reader of chat completions looks (S38)", () => {
  const choices: [string, unknown][] = [
    ["text of a text completion", [{ index: 0, text: "hello", finish_reason: "stop" }]],
    ["a message that is a string", [{ index: 0, message: "hello", finish_reason: "stop" }]],
    ["content that is an object", [{ index: 0, message: { content: { text: "hello" } }, finish_reason: "stop" }]],
    ["content that is a number", [{ index: 0, message: { content: 5 }, finish_reason: "stop" }]],
    ["parts under another name", [{ index: 0, message: { content: [{ type: "x", value: "hello" }] }, finish_reason: "stop" }]],
    ["a message of another form", [{ index: 0, message: { output: "hello" }, finish_reason: "stop" }]],
    ["choices in an object", { 0: { message: { content: "hello" } } }],
  ];
  test.each(choices.flatMap(([name, value]) => ["/v1/messages", "/v1/responses"].map((path) => [path, name, value] as const)))(
    "%s, %s: a 502 that costs nothing, and not an empty answer",
    async (path, _, choices) => {
      answer = (_request, response) =>
        void response
          .writeHead(200, { "content-type": "application/json" })
          .end(JSON.stringify({ id: "c", choices, usage: { prompt_tokens: 9, completion_tokens: 3 } }));
      const response = await ask({ model: "single", path, isStream: false });
      expect(response.status).toBe(502);
      expect(await response.text()).toMatch(/The model server/);
      expect(await onlyRow(stack(), idOf(response))).toMatchObject({ outcome: "failed", chargeNanoUsd: 0n });
    },
  );
});

describe("an error as JSON with status 200, in answer to a request for a stream (S22)", () => {
  test.each(["/v1/chat/completions", "/v1/messages", "/v1/responses"])(
    "has a status on %s, at which SDKs try again",
    async (path) => {
      answer = (_request, response) =>
        void response.writeHead(200, { "content-type": "application/json" }).end('{"error":{"message":"x","code":503}}');
      const response = await ask({ model: "single", path });
      expect(response.status).toBe(path === "/v1/messages" ? 529 : 503);
      expect(await response.json()).toMatchObject({
        error: { message: expect.stringMatching(/^The model server is overloaded/) },
      });
      expect(await onlyRow(stack(), idOf(response))).toMatchObject({ outcome: "failed", chargeNanoUsd: 0n });
    },
  );
});

describe("while a server is silent", () => {
  /** Two tokens, three seconds apart. */
  const pauses: ModelAnswer = (_request, response) => {
    response.writeHead(200, STREAM).write(chunk("one"));
    setTimeout(() => response.end(`${chunk("two")}data: [DONE]\n\n`), 3_000);
  };

  test.each([
    ["/v1/chat/completions", ": keep-alive\n\n"],
    ["/v1/messages", 'event: ping\ndata: {"type": "ping"}\n\n'],
    ["/v1/responses", ": keep-alive\n\n"],
  ])("a client of %s gets a keep-alive as often as its Model sets", async (path, sign) => {
    answer = pauses;
    const text = await (await ask({ model: "lively", path })).text();
    expect(text.split(sign).length - 1).toBeGreaterThanOrEqual(1);
    expect(text.indexOf(sign)).toBeGreaterThan(text.indexOf("one"));
    expect(text.indexOf("two")).toBeGreaterThan(text.lastIndexOf(sign));
  });

  test("a Model may have a longer interval", async () => {
    answer = pauses;
    expect(await (await ask({ model: "still" })).text()).not.toContain("keep-alive");
  });
});

test("nothing is left open, and there was no internal failure", async () => {
  const metrics = await eventually(() => stack().idle());
  expect(metrics.get("gateway_internal_failures_total")).toBe(0);
  expect(metrics.get("gateway_open_holds")).toBe(0);
});
