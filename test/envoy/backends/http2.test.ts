import { connect, constants, createSecureServer, type Http2Server, type ServerHttp2Stream } from "node:http2";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { makeBackendManifests } from "../../support/stacks/backend-manifests.ts";
import { makeCompletion, makeCompletionStream } from "../../support/servers/completions.ts";
import { startRecordingUpstream, type RecordingUpstream } from "../../support/servers/recording-upstream.ts";
import { onlyRow } from "../../support/billing/settlement.ts";
import type { TestProduct } from "../../support/stacks/product.ts";
import { borrowStack } from "../../support/shared-stacks/borrow.ts";
import { makeAuthority, type Authority } from "../../support/servers/tls-certificates.ts";

/** Longer than Envoy takes for an answer and its trailers. */
const HOOK_MS = 300;

/** A model server that speaks HTTP/2 ends one stream and keeps its connection: not what a closed connection looks like. */

let respond: (stream: ServerHttp2Stream) => void = () => {};
/** Each stream's HTTP version as the server sees it. */
let protocols: (string | null | undefined)[] = [];
let authority: Authority;
let server: Http2Server;
let hook: RecordingUpstream;
let manifests: Awaited<ReturnType<typeof makeBackendManifests>>;
let stack: TestProduct;

beforeAll(async () => {
  authority = await makeAuthority();
  const { ca, certificate, key } = await authority.issue("model-server", { address: "127.0.0.1", usage: "serverAuth" });
  server = createSecureServer({ cert: certificate, key });
  server.on("stream", (stream) => {
    protocols.push(stream.session?.alpnProtocol);
    stream.on("error", () => {});
    stream.resume().on("end", () => respond(stream));
  });
  const { promise: listening, resolve } = Promise.withResolvers<void>();
  server.listen(0, "127.0.0.1", resolve);
  await listening;
  const address = server.address();
  if (typeof address !== "object" || address === null) throw new Error("the model server has no port");
  hook = await startRecordingUpstream((_request, response) => {
    setTimeout(() => response.end('{"results":[{"flagged":false}]}'), HOOK_MS);
  });
  const guardrail = { url: `http://127.0.0.1:${hook.port}/check`, check: ["Answers"], timeout: "5s" };
  const only = { name: "only", protocol: "chat", url: `https://127.0.0.1:${address.port}`, ca } as const;
  manifests = await makeBackendManifests([
    { name: "single", backends: [only] },
    { name: "several", backends: [only, { ...only, name: "spare", priority: 1 }] },
    { name: "checked", backends: [only], guardrail },
  ]);
  stack = await borrowStack({ manifestsDirectory: manifests.directory, creditNanoUsd: 1_000_000_000_000n });
});
afterAll(async () => {
  await stack.stop();
  server.close();
  await hook.stop();
  await manifests.remove();
  await authority.remove();
});

async function ask(model: string, path = "/v1/chat/completions"): Promise<{ response: Response; text: string }> {
  const response = await fetch(stack.baseUrl + path, {
    method: "POST",
    headers: { authorization: `Bearer ${stack.apiKey}` },
    body: JSON.stringify({ model, stream: true, max_tokens: 100, messages: [{ role: "user", content: "Hello" }] }),
  });
  return { response, text: await response.text() };
}

const CHUNK = `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, model: "m", choices: [{ index: 0, delta: { content: "one two three" }, finish_reason: null }] })}\n\n`;
const RESETS = [
  ["INTERNAL_ERROR", constants.NGHTTP2_INTERNAL_ERROR],
  ["CANCEL", constants.NGHTTP2_CANCEL],
  ["NO_ERROR", constants.NGHTTP2_NO_ERROR],
] as const;
const CASES = ["single", "several"].flatMap((model) => RESETS.map(([name, code]) => ({ model, name, code })));

test.for(CASES)(
  "$model: a stream that its server resets with $name ends with an error event, as the server's failure",
  async ({ model, code }) => {
    respond = (stream) => {
      stream.respond({ ":status": 200, "content-type": "text/event-stream" });
      stream.write(CHUNK);
      void sleep(200).then(() => stream.close(code));
    };
    protocols = [];
    for (const [path, event] of [
      ["/v1/chat/completions", /data: \{"error":\{"message":"The model server stopped in the middle of its answer\./],
      ["/v1/messages", /event: error\ndata: .*The model server.s answer ended before it was complete\./],
    ] as const) {
      const { response, text } = await ask(model, path);
      expect(response.status).toBe(200);
      expect(text).toContain("one two three");
      expect(text).toMatch(event);
      expect(await onlyRow(stack, response.headers.get("x-request-id") ?? "")).toMatchObject({ outcome: "truncated" });
    }
    expect(new Set(protocols)).toEqual(new Set(["h2"]));
  },
);

test.for(CASES)(
  "$model: a stream reset with $name before its headers is an error of the server, and free",
  async ({ model, code }) => {
    respond = (stream) => stream.close(code);
    const { response, text } = await ask(model);
    expect(response.status).toBeGreaterThanOrEqual(502);
    expect(text).toMatch(/^\{"error":\{"message":"The model server/);
    const row = await onlyRow(stack, response.headers.get("x-request-id") ?? "");
    expect(row).toMatchObject({ outcome: "failed", chargeNanoUsd: 0n });
  },
);

describe("a model server that ends its connection with GOAWAY", () => {
  const FINISH = `${CHUNK.replace('"content":"one two three"', "").replace('"finish_reason":null', '"finish_reason":"stop"')}data: [DONE]\n\n`;

  test.for(["single", "several"])(
    "%s: completes the streams that it has begun, and gets the next ones on another",
    async (model) => {
      respond = (stream) => {
        stream.respond({ ":status": 200, "content-type": "text/event-stream" });
        stream.write(CHUNK);
        stream.session?.goaway(constants.NGHTTP2_NO_ERROR, stream.id);
        void sleep(200).then(() => stream.end(FINISH));
      };
      for (let times = 0; times < 3; times++) {
        const { response, text } = await ask(model);
        expect(text).toContain("[DONE]");
        expect(text).not.toContain('"error"');
        expect(await onlyRow(stack, response.headers.get("x-request-id") ?? "")).toMatchObject({ outcome: "complete" });
      }
    },
  );

  test.for(["single", "several"])("%s: an answer that it cuts off with the connection is the server's failure", async (model) => {
    respond = (stream) => {
      stream.respond({ ":status": 200, "content-type": "text/event-stream" });
      stream.write(CHUNK);
      const { session } = stream;
      session?.goaway(constants.NGHTTP2_ENHANCE_YOUR_CALM);
      void sleep(200).then(() => session?.destroy());
    };
    const { response, text } = await ask(model);
    expect(text).toContain("one two three");
    expect(text).toContain("The model server stopped in the middle of its answer.");
    expect(await onlyRow(stack, response.headers.get("x-request-id") ?? "")).toMatchObject({ outcome: "truncated" });
  });

  test.for(["single", "several"])(
    "%s: a request that it says it has not read is an error of the server, and free",
    async (model) => {
      respond = ({ session }) => {
        session?.goaway(constants.NGHTTP2_NO_ERROR, 0);
        void sleep(50).then(() => session?.destroy());
      };
      const { response, text } = await ask(model);
      expect(response.status).toBeGreaterThanOrEqual(502);
      expect(text).toMatch(/^\{"error":\{"message":"The model server/);
      const row = await onlyRow(stack, response.headers.get("x-request-id") ?? "");
      expect(row).toMatchObject({ outcome: "failed", chargeNanoUsd: 0n });
    },
  );
});

describe("trailers of a model server", () => {
  /** The parts of them, and of the answer, that an HTTP/2 client gets. */
  async function askOverHttp2(model: string, isStream: boolean) {
    const session = connect(stack.baseUrl);
    const request = session.request({
      ":method": "POST",
      ":path": "/v1/chat/completions",
      authorization: `Bearer ${stack.apiKey}`,
    });
    request.end(JSON.stringify({ model, stream: isStream, max_tokens: 100, messages: [{ role: "user", content: "Hello" }] }));
    const got = { status: 0, requestId: "", trailers: {}, text: "" };
    request.setEncoding("utf8");
    request.on("response", (headers) => {
      got.status = headers[":status"] ?? 0;
      got.requestId = String(headers["x-request-id"]);
    });
    request.on("trailers", (trailers) => (got.trailers = { ...trailers }));
    for await (const text of request) got.text += String(text);
    session.close();
    return got;
  }

  function respondWithTrailers(type: string, body: string): void {
    respond = (stream) => {
      stream.respond({ ":status": 200, "content-type": type }, { waitForTrailers: true });
      stream.on("wantTrailers", () => stream.sendTrailers({ "x-internal": "secret", "x-usage": "9", "grpc-status": "0" }));
      stream.end(body);
    };
  }

  const each = ["single", "several", "checked"].flatMap((model) => [true, false].map((isStream) => [model, isStream] as const));

  test.for(each)("do not reach its clients: %s, stream: %s (S17)", async ([model, isStream]) => {
    if (isStream) respondWithTrailers("text/event-stream", makeCompletionStream());
    else respondWithTrailers("application/json", makeCompletion());
    const { status, requestId, trailers, text } = await askOverHttp2(model, isStream);
    expect({ status, trailers }).toEqual({ status: 200, trailers: {} });
    expect(text).toContain("one two three");
    expect(await onlyRow(stack, requestId)).toMatchObject({ outcome: "complete", isEstimated: false });
  });

  test.for(["single", "several"])("without any body are an error, and free: %s (S22)", async (model) => {
    respondWithTrailers("application/json", "");
    const { status, requestId, trailers, text } = await askOverHttp2(model, false);
    expect({ status, trailers }).toEqual({ status: 502, trailers: {} });
    expect(JSON.parse(text)).toMatchObject({ error: { code: "upstream_error" } });
    expect(await onlyRow(stack, requestId)).toMatchObject({ outcome: "failed", chargeNanoUsd: 0n });
  });
});
