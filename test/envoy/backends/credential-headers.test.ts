import type { IncomingMessage } from "node:http";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { makeBackendManifests } from "../../support/stacks/backend-manifests.ts";
import type { TestProduct } from "../../support/stacks/product.ts";
import { startRecordingUpstream, type RecordingUpstream } from "../../support/servers/recording-upstream.ts";
import { borrowStack } from "../../support/shared-stacks/borrow.ts";

/** Model servers that expect their key in another header than their protocol has, and a version in the address, as Azure does. */
const KEY = "px-live-Zk3v9QmT7wLr2YbN";
const VERSION = "2025-04-01-preview";
const USAGE = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
const DELTA = {
  id: "a",
  object: "chat.completion.chunk",
  created: 1,
  model: "m",
  choices: [{ index: 0, delta: { content: "Hi" } }],
};
const END = { ...DELTA, choices: [{ index: 0, delta: {}, finish_reason: "stop" }], usage: USAGE };
const WHOLE = {
  ...END,
  object: "chat.completion",
  choices: [{ index: 0, message: { role: "assistant", content: "Hi" }, finish_reason: "stop" }],
};
const MESSAGE = {
  id: "m",
  type: "message",
  role: "assistant",
  model: "m",
  content: [{ type: "text", text: "Hi" }],
  stop_reason: "end_turn",
  usage: { input_tokens: 1, output_tokens: 1 },
};

let server: RecordingUpstream;
let manifests: Awaited<ReturnType<typeof makeBackendManifests>>;
let stack: TestProduct;
const asked: IncomingMessage[] = [];
beforeEach(() => void (asked.length = 0));

beforeAll(async () => {
  server = await startRecordingUpstream((request, response, body) => {
    asked.push(request);
    if (request.url?.startsWith("/failing") === true) return void response.writeHead(500).end();
    const isStream = body.includes('"stream":true');
    response.writeHead(200, { "content-type": isStream ? "text/event-stream" : "application/json" });
    if (isStream) response.end(`data: ${JSON.stringify(DELTA)}\n\ndata: ${JSON.stringify(END)}\n\ndata: [DONE]\n\n`);
    else response.end(JSON.stringify(request.url?.includes("/messages") === true ? MESSAGE : WHOLE));
  });
  const url = `http://127.0.0.1:${server.port}`;
  const azure = { protocol: "chat", credential: KEY, credentialHeader: "api-key", apiVersion: VERSION } as const;
  manifests = await makeBackendManifests([
    { name: "deployment", backends: [{ ...azure, name: "only", url: `${url}/openai/deployments/large` }] },
    {
      name: "two-deployments",
      backends: [
        { ...azure, name: "first", url: `${url}/failing` },
        { ...azure, name: "second", url: `${url}/second`, priority: 1 },
      ],
    },
    {
      name: "bearer",
      backends: [{ name: "only", protocol: "messages", url, credential: KEY, credentialHeader: "authorization" }],
    },
  ]);
  stack = await borrowStack({ manifestsDirectory: manifests.directory });
});
afterAll(async () => {
  await stack?.stop();
  await server?.stop();
  await manifests?.remove();
});

async function ask(model: string, { path = "/v1/chat/completions", stream = false } = {}): Promise<string> {
  const response = await fetch(stack.baseUrl + path, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${stack.apiKey}`, "api-key": "of the client" },
    body: JSON.stringify({ model, stream, max_tokens: 16, messages: [{ role: "user", content: "Hello." }] }),
  });
  const text = await response.text();
  expect(response.status, text).toBe(200);
  return text;
}

const seen = () => asked.map(({ url, headers }) => ({ url, key: headers["api-key"], authorization: headers.authorization }));

test.for([
  { stream: false, path: "/v1/chat/completions" },
  { stream: true, path: "/v1/chat/completions" },
  { stream: true, path: "/v1/messages" },
])("the key is in the server's header, and the version in its address: $path, stream: $stream", async (request) => {
  expect(await ask("deployment", request)).toContain("Hi");
  expect(seen()).toEqual([
    { url: `/openai/deployments/large/v1/chat/completions?api-version=${VERSION}`, key: KEY, authorization: undefined },
  ]);
});

test.for([false, true])("also on the next backend: stream: %s", async (stream) => {
  expect(await ask("two-deployments", { stream })).toContain("Hi");
  expect(seen()).toEqual(
    ["failing", "second"].map((name) => ({
      url: `/${name}/v1/chat/completions?api-version=${VERSION}`,
      key: KEY,
      authorization: undefined,
    })),
  );
});

test("a server of messages can get its key as a bearer token", async () => {
  expect(await ask("bearer", { path: "/v1/messages" })).toContain("Hi");
  expect(seen()).toEqual([{ url: "/v1/messages", key: undefined, authorization: `Bearer ${KEY}` }]);
  expect(asked[0]?.headers["x-api-key"]).toBeUndefined();
});
