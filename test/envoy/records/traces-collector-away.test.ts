import { afterAll, beforeAll, expect, test } from "vitest";
import { makeBackendManifests } from "../../support/stacks/backend-manifests.ts";
import { startRecordingUpstream, type RecordingUpstream } from "../../support/servers/recording-upstream.ts";
import { startTestStack, type TestStack } from "../../support/stacks/stack.ts";

/** Spans for a collector that is not there, and what model servers see of a trace. */
let stack: TestStack;
let upstream: RecordingUpstream;
let removeManifests: () => Promise<void>;
beforeAll(async () => {
  upstream = await startRecordingUpstream((_request, response) => {
    response.writeHead(200, { "content-type": "application/json" }).end(
      JSON.stringify({
        id: "a",
        object: "chat.completion",
        created: 1,
        model: "m",
        choices: [{ index: 0, message: { role: "assistant", content: "Yes." }, finish_reason: "stop" }],
        usage: { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 },
      }),
    );
  });
  const backend = { name: "answers", protocol: "chat", url: `http://127.0.0.1:${upstream.port}/v1` } as const;
  const { directory, remove } = await makeBackendManifests([{ name: "one-server", backends: [backend] }]);
  removeManifests = remove;
  // No one listens on this port.
  stack = await startTestStack({ manifestsDirectory: directory, tracesUrl: "http://127.0.0.1:1" });
});
afterAll(async () => {
  await stack.stop();
  await upstream.stop();
  await removeManifests();
});

test("requests are served without a collector, and model servers get only a trace's ids", async () => {
  const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";
  for (let count = 0; count < 20; count++) {
    const response = await fetch(`${stack.baseUrl}/v1/chat/completions`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        authorization: `Bearer ${stack.apiKey}`,
        traceparent: `00-${traceId}-00f067aa0ba902b7-01`,
        tracestate: "vendor=of-the-client",
        baggage: "person=somebody",
      },
      body: JSON.stringify({ model: "one-server", max_tokens: 8, messages: [{ role: "user", content: "Well?" }] }),
    });
    expect(response.status).toBe(200);
    await response.text();
  }
  expect(upstream.requests).toHaveLength(20);
  for (const { headers } of upstream.requests) {
    expect(headers["traceparent"]).toMatch(new RegExp(`^00-${traceId}-[0-9a-f]{16}-01$`));
    expect(JSON.stringify(headers)).not.toMatch(/of-the-client|somebody/);
  }
});
