import type { IncomingMessage, ServerResponse } from "node:http";
import { afterAll, beforeAll, expect, test } from "vitest";
import { makeBackendManifests } from "../support/backend-manifests.ts";
import { startRecordingUpstream, type RecordingUpstream } from "../support/recording-upstream.ts";
import { startTestStack, type TestStack } from "../support/stack.ts";

/** Answers of model servers that are none, though they begin well: each is the server's error, in the caller's protocol (S22). */
let stack: TestStack;
let provider: RecordingUpstream;
let removeManifests: () => Promise<void>;
let respond: (response: ServerResponse) => void;

beforeAll(async () => {
  provider = await startRecordingUpstream((_request: IncomingMessage, response) => respond(response));
  const url = `http://127.0.0.1:${provider.port}`;
  const manifests = await makeBackendManifests([{ name: "odd", backends: [{ name: "a", protocol: "chat", url }] }]);
  removeManifests = manifests.remove;
  stack = await startTestStack({ manifestsDirectory: manifests.directory });
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
  "a page": (response) => response.writeHead(200, { "content-type": "text/html" }).end("<html><body>It works!</body></html>"),
};

const CASES = Object.keys(ANSWERS).flatMap((answer) =>
  ["/v1/chat/completions", "/v1/messages"].flatMap((target) => [true, false].map((stream) => ({ answer, target, stream }))),
);

test.for(CASES)("$answer by $target (stream: $stream)", async ({ answer, target, stream }) => {
  respond = ANSWERS[answer] ?? (() => undefined);
  const response = await fetch(stack.baseUrl + target, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${stack.apiKey}` },
    body: JSON.stringify({ model: "odd", max_tokens: 16, stream, messages: [{ role: "user", content: "Hello." }] }),
  });
  const text = await response.text();
  const isEvent = response.headers.get("content-type")?.startsWith("text/event-stream") === true;
  expect(isEvent || response.status >= 500, `${response.status} ${text}`).toBe(true);
  expect(text).toContain(target === "/v1/messages" ? '"type":"error"' : '"error":{');
  expect(text).not.toMatch(/It works|\[DONE\]|message_stop/);
});
