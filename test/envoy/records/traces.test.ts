import { afterAll, beforeAll, expect, test } from "vitest";
import { makeOneAndSeveral } from "../../support/stacks/backend-manifests.ts";
import { eventually } from "../../support/eventually.ts";
import { startFailingUpstream, type FailingUpstream } from "../../support/servers/failing-upstream.ts";
import { onlyRow } from "../../support/billing/settlement.ts";
import { startSpanCollector, type CollectedSpan, type SpanCollector } from "../../support/servers/span-collector.ts";
import { startTestStack, type TestStack } from "../../support/stacks/stack.ts";

/** Spans, from a real Envoy to a collector. */
let stack: TestStack;
let upstream: FailingUpstream;
let collector: SpanCollector;
let removeManifests: () => Promise<void>;
beforeAll(async () => {
  collector = await startSpanCollector();
  upstream = await startFailingUpstream();
  const { directory, remove } = await makeOneAndSeveral(upstream);
  removeManifests = remove;
  stack = await startTestStack({ manifestsDirectory: directory, tracesUrl: collector.url });
});
afterAll(async () => {
  await stack.stop();
  await upstream.stop();
  await collector.stop();
  await removeManifests();
});

const PROMPT = "Nobody may read this sentence in a span.";

async function ask(model: string, options: { stream?: boolean; headers?: Record<string, string>; key?: string } = {}) {
  const { stream = false, headers = {}, key = stack.apiKey } = options;
  const response = await fetch(`${stack.baseUrl}/v1/chat/completions?secret=in-query`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${key}`, ...headers },
    body: JSON.stringify({ model, stream, max_tokens: 256, messages: [{ role: "user", content: PROMPT }] }),
  });
  await response.text();
  return { status: response.status, requestId: response.headers.get("x-request-id") ?? "" };
}

/** The span of a request itself. */
async function spanOf(requestId: string): Promise<CollectedSpan> {
  const isOf = ({ name, attributes }: CollectedSpan) => name === "ingress" && attributes["gateway.request_id"] === requestId;
  return eventually(
    () => {
      const span = collector.spans.find(isOf);
      if (span === undefined) throw new Error(`no span of ${requestId} has come`);
      return span;
    },
    { withinMs: 30_000 },
  );
}

/** Spans below it of what was sent on; Envoy's calls of extproc have some, too. */
const sentBelow = ({ spanId }: CollectedSpan) =>
  collector.spans.filter(({ parentId, name }) => parentId === spanId && !name.startsWith("async "));

test.for([{ stream: false }, { stream: true }])(
  "a request has a span by OpenTelemetry's names (stream: $stream)",
  async ({ stream }) => {
    const { requestId } = await ask("one-server", { stream });
    const { usage } = await onlyRow(stack, requestId);
    const span = await spanOf(requestId);
    expect(span.attributes).toMatchObject({
      "gen_ai.operation.name": "chat",
      "gen_ai.request.model": "one-server",
      "gen_ai.provider.name": "answers",
      "gen_ai.usage.input_tokens": String(usage.inputTokens + usage.cachedInputTokens + usage.cacheWriteTokens),
      "gen_ai.usage.output_tokens": String(usage.outputTokens),
      "gateway.interface": "chat",
      "gateway.outcome": "complete",
      "http.status_code": "200",
    });
    expect(span.parentId).toBe("");
    await eventually(() => expect(sentBelow(span)).toHaveLength(1), { withinMs: 30_000 });
  },
);

test("a trace that the client began is continued", async () => {
  const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";
  const { requestId } = await ask("one-server", { headers: { traceparent: `00-${traceId}-00f067aa0ba902b7-01` } });
  expect(await spanOf(requestId)).toMatchObject({ traceId, parentId: "00f067aa0ba902b7" });
});

test("each attempt at a backend has a child span of its request", async () => {
  const { requestId, status } = await ask("several-servers");
  expect(status).toBe(200);
  const span = await spanOf(requestId);
  expect(span.attributes).toMatchObject({ "gen_ai.provider.name": "answers", "gateway.outcome": "complete" });
  await eventually(
    () => {
      const attempts = sentBelow(span).flatMap(sentBelow);
      expect(attempts).toHaveLength(2);
      expect(new Set(attempts.map(({ attributes }) => attributes["http.status_code"]))).toEqual(new Set(["500", "200"]));
      expect(new Set(attempts.map(({ attributes }) => attributes["upstream_cluster"])).size).toBe(2);
    },
    { withinMs: 30_000 },
  );
});

test("a refused request has a span with its reason", async () => {
  const { requestId, status } = await ask("one-server", { key: "sk-mg-wrong" });
  expect(status).toBe(401);
  expect((await spanOf(requestId)).attributes).toMatchObject({ "error.type": "invalid_api_key", "http.status_code": "401" });
});

test("no span has a body, a key or a query", async () => {
  const { requestId } = await ask("one-server", { headers: { tracestate: "vendor=kept-by-nobody" } });
  await spanOf(requestId);
  const all = collector.bytes().toString("latin1");
  for (const secret of [PROMPT, stack.apiKey, "in-query", "kept-by-nobody"]) expect(all).not.toContain(secret);
});
