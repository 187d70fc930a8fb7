import type { IncomingMessage, ServerResponse } from "node:http";
import { afterAll, beforeAll, expect, test } from "vitest";
import { DEAR } from "../../support/servers/scripted-models.ts";
import { makeBackendManifests } from "../../support/stacks/backend-manifests.ts";
import { startRecordingUpstream, type RecordingUpstream } from "../../support/servers/recording-upstream.ts";
import { onlyRow } from "../../support/billing/settlement.ts";
import type { TestProduct } from "../../support/stacks/product.ts";
import { borrowStack } from "../../support/shared-stacks/borrow.ts";

/** Answers of model servers that are none, though they begin well: each is the server's error, in the caller's protocol (S22). */
let stack: TestProduct;
let provider: RecordingUpstream;
let removeManifests: () => Promise<void>;
let respond: (response: ServerResponse) => void;

beforeAll(async () => {
  provider = await startRecordingUpstream((_request: IncomingMessage, response) => respond(response));
  const url = `http://127.0.0.1:${provider.port}`;
  const only = { name: "a", protocol: "chat", url } as const;
  const manifests = await makeBackendManifests([
    { name: "odd", backends: [only], pricing: DEAR },
    { name: "odd-several", backends: [only, { ...only, name: "b", priority: 1 }], pricing: DEAR },
  ]);
  removeManifests = manifests.remove;
  stack = await borrowStack({ manifestsDirectory: manifests.directory });
});
afterAll(async () => {
  await stack?.stop();
  await provider?.stop();
  await removeManifests?.();
});

const GOOD = JSON.stringify({
  id: "chatcmpl-1",
  object: "chat.completion",
  created: 1,
  model: "odd",
  choices: [{ index: 0, message: { role: "assistant", content: "Hello." }, finish_reason: "stop" }],
  usage: { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 },
});
const JSON_TYPE = { "content-type": "application/json" };

const ANSWERS: Record<string, (response: ServerResponse) => void> = {
  "a part of an answer (206)": (response) => response.writeHead(206, JSON_TYPE).end(GOOD),
  "a content-length that is too long": (response) => {
    response.writeHead(200, { ...JSON_TYPE, "content-length": GOOD.length + 10 });
    response.write(GOOD, () => response.destroy());
  },
  "a content-length that is too short": (response) => {
    response.socket?.end(`HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 40\r\n\r\n${GOOD}`);
  },
  "a status below 200": (response) => {
    response.socket?.end(`HTTP/1.1 0 Odd\r\ncontent-type: application/json\r\n\r\n${GOOD}`);
  },
  "a stream cut off together with its first chunk": (response) => {
    const event = `data: ${GOOD.replace("chat.completion", "chat.completion.chunk").replace('"message"', '"delta"').replace('"stop"', "null")}\n\n`;
    const piece = `${event.length.toString(16)}\r\n${event}\r\n`;
    response.socket?.end(`HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n${piece}`);
  },
  "a page": (response) => response.writeHead(200, { "content-type": "text/html" }).end("<html><body>It works!</body></html>"),
  "a page that says it is JSON": (response) => response.writeHead(200, JSON_TYPE).end("<html><body>It works!</body></html>"),
  "a page that says it is a stream": (response) =>
    response.writeHead(200, { "content-type": "text/event-stream" }).end("<html><body>It works!</body></html>"),
  "an object that is no completion": (response) => response.writeHead(200, JSON_TYPE).end('{"status":"It works!"}'),
  "a completion with an empty list of choices": (response) =>
    response.writeHead(200, JSON_TYPE).end(GOOD.replace(/"choices":\[.*\],/, '"choices":[],')),
  "events that are no completion": (response) =>
    response.writeHead(200, { "content-type": "text/event-stream" }).end('data: {"status":"ok"}\n\ndata: [DONE]\n\n'),
  "a status of 600": (response) => response.writeHead(600, JSON_TYPE).end(GOOD),
  "a status of 999": (response) => response.writeHead(999, JSON_TYPE).end(GOOD),
  "a status of three digits below 100": (response) => {
    response.socket?.end(`HTTP/1.1 099 Odd\r\ncontent-type: application/json\r\n\r\n${GOOD}`);
  },
  "another protocol (101)": (response) => {
    response.socket?.end("HTTP/1.1 101 Switching Protocols\r\nupgrade: odd\r\nconnection: upgrade\r\n\r\nIt works!");
  },
  "an informational status alone (103)": (response) => {
    response.socket?.end("HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n");
  },
};

const CASES = Object.keys(ANSWERS).flatMap((answer) =>
  ["odd", "odd-several"].flatMap((model) =>
    ["/v1/chat/completions", "/v1/messages"].flatMap((target) =>
      [true, false].map((stream) => ({ answer, model, target, stream })),
    ),
  ),
);

test.for(CASES)("$answer of $model by $target (stream: $stream)", async ({ answer, model, target, stream }) => {
  respond = ANSWERS[answer] ?? (() => undefined);
  const response = await fetch(stack.baseUrl + target, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${stack.apiKey}` },
    body: JSON.stringify({ model, max_tokens: 16, stream, messages: [{ role: "user", content: "Hello." }] }),
  });
  const text = await response.text();
  const isEvent = response.headers.get("content-type")?.startsWith("text/event-stream") === true;
  expect(isEvent || response.status >= 500, `${response.status} ${text}`).toBe(true);
  expect(text).toContain(target === "/v1/messages" ? '"type":"error"' : '"error":{');
  expect(text).not.toMatch(/It works|\[DONE\]|message_stop/);
  const { outcome, chargeNanoUsd } = await onlyRow(stack, response.headers.get("x-request-id") ?? "");
  expect(outcome).toMatch(/failed|truncated/);
  expect(chargeNanoUsd > 0n, "charged").toBe(text.includes("Hello."));
});

test("however soon an answer breaks off, its server has failed", async () => {
  // Envoy's report of it and the answer's headers reach extproc in either order.
  respond = ANSWERS["a content-length that is too long"] ?? respond;
  const outcomes = new Set<string>();
  for (let round = 0; round < 20; round++) {
    const ids = await Promise.all(Array.from({ length: 12 }, requestOdd));
    for (const id of ids) outcomes.add((await onlyRow(stack, id)).outcome);
  }
  expect([...outcomes]).toEqual(["failed"]);

  async function requestOdd(): Promise<string> {
    const response = await fetch(`${stack.baseUrl}/v1/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${stack.apiKey}` },
      body: JSON.stringify({ model: "odd", max_tokens: 16, messages: [{ role: "user", content: "Hello." }] }),
    });
    await response.text();
    return response.headers.get("x-request-id") ?? "";
  }
});

test.for(["odd", "odd-several"])("informational statuses before an answer of %s change nothing", async (model) => {
  respond = (response) => {
    response.writeEarlyHints({ link: "</x>; rel=preload" });
    response.writeProcessing();
    response.writeHead(200, JSON_TYPE).end(GOOD);
  };
  const response = await fetch(`${stack.baseUrl}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${stack.apiKey}` },
    body: JSON.stringify({ model, max_tokens: 16, messages: [{ role: "user", content: "Hello." }] }),
  });
  expect([response.status, await response.json()]).toMatchObject([200, { choices: [{ message: { content: "Hello." } }] }]);
});
