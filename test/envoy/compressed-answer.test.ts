import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import { makeBackendManifests } from "../support/backend-manifests.ts";
import { startRecordingUpstream, type RecordingUpstream } from "../support/recording-upstream.ts";
import { startTestStack, type TestStack } from "../support/stack.ts";

/** A model server that compresses, although it was asked for `identity`. */
let upstream: RecordingUpstream;
let manifests: Awaited<ReturnType<typeof makeBackendManifests>>;
let stack: TestStack;
beforeAll(async () => {
  const events = gzipSync('data: {"choices":[{"index":0,"delta":{"content":"Hello."}}]}\n\ndata: [DONE]\n\n');
  upstream = await startRecordingUpstream((_request, response) => {
    response.writeHead(200, { "content-type": "text/event-stream", "content-encoding": "gzip" }).end(events);
  });
  const url = `http://127.0.0.1:${upstream.port}`;
  manifests = await makeBackendManifests([
    { name: "as-chat", backends: [{ name: "only", protocol: "chat", url }] },
    { name: "as-messages", backends: [{ name: "only", protocol: "messages", url }] },
  ]);
  stack = await startTestStack({ manifestsDirectory: manifests.directory });
});
afterAll(async () => {
  await stack.stop();
  await upstream.stop();
  await manifests.remove();
});

test.for([
  { path: "/v1/chat/completions", model: "as-chat" },
  { path: "/v1/chat/completions", model: "as-messages" },
  { path: "/v1/messages", model: "as-chat" },
  { path: "/v1/messages", model: "as-messages" },
])(
  "$path, $model: an answer that nobody could read or meter is a free 502, and no byte of it passes (S22)",
  async ({ path, model }) => {
    const response = await fetch(stack.baseUrl + path, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${stack.apiKey}` },
      body: JSON.stringify({ model, max_tokens: 64, stream: true, messages: [{ role: "user", content: "Hello." }] }),
    });
    expect(response.status).toBe(502);
    expect(response.headers.get("content-type")).toBe("application/json");
    expect(await response.text()).toContain("compressed");
    const rows = await stack.usageOf(response.headers.get("x-request-id") ?? "");
    expect(rows).toEqual([expect.objectContaining({ outcome: "failed", httpStatus: 502, chargeNanoUsd: 0n })]);
  },
);
