import { connect as connectHttp2 } from "node:http2";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { freePort } from "../../../local/process/ports.ts";
import { MAX_REQUEST_BYTES } from "../../../contract/headers.ts";
import { buildBootstrap, type BootstrapOptions } from "../../../operator/bootstrap/bootstrap.ts";
import { buildSnapshot } from "../../../operator/xds/snapshot.ts";
import { validateBootstrap } from "../../support/stacks/envoy-process.ts";
import { eventually } from "../../support/eventually.ts";
import { sendRaw } from "../../support/wire/raw-http.ts";
import { startRecordingUpstream, type RecordingUpstream } from "../../support/servers/recording-upstream.ts";
import { loopbackEndpoint, startXdsStack, type XdsStack } from "../../support/stacks/xds-stack.ts";

/** The product's Envoy configuration with a scripted processor: what Envoy itself does to requests and replies. */
const GOOD = "model/m/good/00000001";
const DEAD = "model/m/dead/00000002";
const MUTE = "model/m/mute/00000003";

const WEBSOCKET =
  "connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n";

let stack: XdsStack;
let upstream: RecordingUpstream;
let mute: RecordingUpstream;

beforeAll(async () => {
  upstream = await startRecordingUpstream((_request, response) => {
    response.writeHead(200, { "content-type": "application/json", "x-upstream": "yes" }).end('{"ok":true}');
  });
  mute = await startRecordingUpstream(() => undefined);
  stack = await startXdsStack();
  stack.xds.push(
    buildSnapshot({
      clusters: new Map([
        [GOOD, loopbackEndpoint(upstream.port)],
        [DEAD, loopbackEndpoint(1)],
        [MUTE, loopbackEndpoint(mute.port)],
      ]),
      secrets: new Map(),
    }),
  );
  const outcome = await stack.xds.waitForAck(5_000);
  if (outcome.kind !== "acked") throw new Error(`Envoy did not take the clusters: ${JSON.stringify(outcome)}`);
  stack.scripts.set("good", { kind: "route", cluster: GOOD, path: "/translated" });
  stack.scripts.set("to-messages", { kind: "route", cluster: DEAD, path: "/v1/messages" });
  stack.scripts.set("to-chat", { kind: "route", cluster: DEAD, path: "/v1/chat/completions" });
  stack.scripts.set("no-such-cluster", { kind: "route", cluster: "model/m/gone/00000000", path: "/v1/messages" });
  stack.scripts.set("refuse", {
    kind: "answer",
    status: 402,
    body: '{"from":"the processor"}',
    details: "gateway_insufficient_balance",
  });
  stack.scripts.set("no-backend", { kind: "no-backend" });
  stack.scripts.set("close", { kind: "close" });
  stack.scripts.set("fail", { kind: "fail" });
  stack.scripts.set("die-later", { kind: "route-then-fail", cluster: MUTE, path: "/v1/messages", afterMs: 100 });
});
afterAll(async () => {
  await stack?.stop();
  await upstream?.stop();
  await mute?.stop();
});
beforeEach(() => {
  upstream.requests.length = 0;
  stack.extproc.seen.length = 0;
});

interface Sent {
  script: string;
  path?: string;
  headers?: Record<string, string>;
  body?: string | Uint8Array<ArrayBuffer>;
}

async function send({ script, path = "/v1/chat/completions", headers = {}, body = "{}" }: Sent) {
  const response = await fetch(stack.url + path, { method: "POST", body, headers: { "x-script": script, ...headers } });
  const text = await response.text();
  const json: unknown = JSON.parse(text);
  return { status: response.status, headers: response.headers, json };
}

function expectIds(headers: Headers): string {
  const id = headers.get("x-request-id") ?? "";
  expect(id).toMatch(/^[0-9a-f-]{36}$/);
  expect(headers.get("request-id")).toBe(id);
  expect(headers.get("content-type")).toBe("application/json");
  return id;
}

test.for<{ name: string; options: Partial<BootstrapOptions> }>([
  { name: "a Unix socket to the processor", options: { extproc: [{ path: "/run/gateway/extproc.sock" }] } },
  { name: "a name for the operator", options: { xds: { host: "operator.gateway.svc", port: 9004 } } },
  { name: "the access log on standard output", options: {} },
  { name: "a bound on the heap", options: { maxHeapBytes: 2 ** 30, maxConnections: 100 } },
])("Envoy accepts the bootstrap: $name", async ({ options }) => {
  await expect(
    validateBootstrap(
      buildBootstrap({
        nodeId: "envoy",
        listen: { host: "0.0.0.0", port: 8080 },
        extproc: [{ host: "127.0.0.1", port: 9002 }],
        xds: { host: "127.0.0.1", port: 9004 },
        admin: { host: "127.0.0.1", port: 9901 },
        maxRequestBytes: MAX_REQUEST_BYTES,
        ...options,
      }),
    ),
  ).resolves.toContain("OK");
});

describe("what reaches the processor and the upstream", () => {
  test("a client cannot name a backend, control Envoy, or choose a request id", async () => {
    const spoofed = {
      "X-Gateway-Backend": GOOD,
      "x-gateway-anything": "1",
      x_gateway_backend: GOOD,
      "x-envoy-retry-on": "5xx",
      "x-request-id": "chosen",
    };
    const { status } = await send({ script: "no-backend", headers: spoofed });
    expect(status).toBe(503);
    expect(upstream.requests).toEqual([]);
    const seen = stack.extproc.seen[0]?.requestHeaders ?? {};
    expect(Object.keys(seen).filter((name) => /gateway|retry/.test(name))).toEqual([]);
    expect(seen["x-request-id"]).toMatch(/^[0-9a-f-]{36}$/);
  });

  test("the upstream sees no credential or address of the client, and none of our headers", async () => {
    const secret = { authorization: "Bearer client", "x-api-key": "client", cookie: "session=1", "x-forwarded-for": "192.0.2.7" };
    await send({ script: "good", headers: secret });
    const [request] = upstream.requests;
    expect(request?.path).toBe("/translated");
    expect(request?.headers.host).toBe(`127.0.0.1:${upstream.port}`);
    expect(JSON.stringify(request?.headers)).not.toMatch(/client|session|192\.0\.2\.7|x-gateway|x-envoy|forwarded/);
  });

  test("the path arrives as it was sent: nothing is merged, unescaped or resolved", async () => {
    await send({ script: "refuse", path: "//v1//models/a%2Fb?x=%2e" });
    expect(stack.extproc.seen[0]?.requestHeaders[":path"]).toBe("//v1//models/a%2Fb?x=%2e");
  });

  test("the processor can distinguish Envoy's own reply from the upstream's", async () => {
    await send({ script: "good" });
    await send({ script: "to-chat" });
    expect(stack.extproc.seen.map(({ responseStatus, responseDetails }) => [responseStatus, responseDetails])).toEqual([
      ["200", "via_upstream"],
      ["503", expect.stringMatching(/^upstream_reset_before_response_started/)],
    ]);
  });

  test("a body of the largest size passes, on HTTP/1.1 and HTTP/2", async () => {
    const body = new Uint8Array(MAX_REQUEST_BYTES);
    expect((await send({ script: "good", body })).status).toBe(200);
    expect((await sendHttp2(body)).status).toBe(200);
    expect(upstream.requests.map(({ bodyBytes }) => bodyBytes)).toEqual([MAX_REQUEST_BYTES, MAX_REQUEST_BYTES]);
  });

  test("a body that is one byte too large is a 413 in the caller's format, on HTTP/1.1 and HTTP/2", async () => {
    const body = new Uint8Array(MAX_REQUEST_BYTES + 1);
    const { status, headers, json } = await send({ script: "good", body });
    expect([status, json]).toEqual([
      413,
      {
        error: {
          message: "The request body is larger than 32 MiB.",
          type: "invalid_request_error",
          param: null,
          code: "request_too_large",
        },
      },
    ]);
    expectIds(headers);
    expect((await sendHttp2(body)).status).toBe(413);
    expect(upstream.requests).toEqual([]);
  });
});

describe("a processor that misbehaves", () => {
  test.for([
    { script: "close", fault: "closes its stream cleanly" },
    { script: "no-backend", fault: "names no backend" },
    { script: "fail", fault: "fails" },
  ])("one that $fault lets nothing through", async ({ script }) => {
    const { status, headers } = await send({ script, headers: { authorization: "Bearer client" } });
    expect(status).toBe(503);
    expect(headers.get("retry-after")).toBe("1");
    expect(upstream.requests).toEqual([]);
  });

  test("its own answer is sent unchanged, body and headers", async () => {
    const { status, headers, json } = await send({ script: "refuse", path: "/v1/messages" });
    expect(status).toBe(402);
    expect(json).toEqual({ from: "the processor" });
    expect(headers.get("x-from")).toBe("extproc");
    expect(headers.get("content-type")).toBe("application/json");
  });

  test("an upstream's answer is sent unchanged", async () => {
    const { headers, json } = await send({ script: "good" });
    expect(json).toEqual({ ok: true });
    expect(headers.get("server")).toBe("model-gateway");
  });
});

describe("Envoy's own replies have the caller's format (S17)", () => {
  test.for([
    { script: "to-messages", path: "/v1/chat/completions", code: "upstream_unavailable" },
    { script: "no-such-cluster", path: "/v1/chat/completions", code: "overloaded" },
    { script: "fail", path: "/v1/models", code: "overloaded" },
    { script: "close", path: "/", code: "overloaded" },
  ])("chat: $script at $path is $code", async ({ script, path, code }) => {
    const { status, headers, json } = await send({ script, path });
    expect(status).toBe(503);
    expect(json).toEqual({
      error: { message: expect.stringMatching(/ Try again\.$/), type: "server_error", param: null, code },
    });
    expectIds(headers);
  });

  test.for<{ script: string; path: string; headers: Record<string, string> }>([
    { script: "to-chat", path: "/v1/messages", headers: {} },
    { script: "no-such-cluster", path: "/v1/messages?beta=true", headers: {} },
    { script: "fail", path: "//v1/messages/count_tokens", headers: {} },
    { script: "die-later", path: "/v1/messages", headers: {} },
    { script: "fail", path: "/v1/models", headers: { "anthropic-version": "2023-06-01" } },
    { script: "fail", path: "/v1/models", headers: { "msgapi-version": "2023-06-01" } },
  ])("messages: $script at $path with headers $headers", async ({ script, path, headers }) => {
    const answer = await send({ script, path, headers });
    expect(answer.status).toBe(503);
    expect(answer.json).toEqual({
      type: "error",
      error: { type: "overloaded_error", message: expect.stringMatching(/ Try again\.$/) },
      request_id: expectIds(answer.headers),
    });
  });

  test("if a processor dies while the upstream is thinking, the client gets its own format, not the upstream's", async () => {
    const { json } = await send({ script: "die-later", path: "/v1/chat/completions" });
    expect(json).toEqual({ error: { message: expect.any(String), type: "server_error", param: null, code: "overloaded" } });
  });

  test.for([
    { name: "headers over 32 KiB", head: `POST /v1/messages HTTP/1.1\r\nhost: x\r\nx-big: ${"a".repeat(33_000)}`, status: 431 },
    { name: "too many headers", head: `POST /v1/messages HTTP/1.1\r\nhost: x\r\n${"a: b\r\n".repeat(200)}`, status: 431 },
    { name: "what is not HTTP", head: "HELLO", status: 400 },
    { name: "two lengths", head: "POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\ncontent-length: 6", status: 400 },
  ])("$name: $status with an id, although no request was formed", async ({ head, status }) => {
    const answer = await sendRaw(stack.url, `${head}\r\n\r\n`);
    expect(answer.status).toBe(status);
    expect(answer.json).toEqual({
      error: { message: expect.any(String), type: "invalid_request_error", param: null, code: null },
    });
    expectIds(answer.headers);
  });

  test("HTTP/1.0, a WebSocket and a path without a slash: the remedy is in the error", async () => {
    const [old, socket, inMessages, star] = await Promise.all([
      sendRaw(stack.url, "GET /v1/models HTTP/1.0\r\nhost: x\r\n\r\n"),
      sendRaw(stack.url, `GET /v1/responses HTTP/1.1\r\nhost: x\r\n${WEBSOCKET}\r\n`),
      sendRaw(stack.url, `GET /v1/messages HTTP/1.1\r\nhost: x\r\n${WEBSOCKET}\r\n`),
      sendRaw(stack.url, "OPTIONS * HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"),
    ]);
    const inChat = (message: RegExp, code: string | null) => ({
      error: { message: expect.stringMatching(message), type: "invalid_request_error", param: null, code },
    });
    expect([old.status, old.json]).toEqual([426, inChat(/^HTTP\/1\.0 .* HTTP\/1\.1/, null)]);
    expect([socket.status, socket.json]).toEqual([426, inChat(/^WebSockets .*"stream": true/, null)]);
    expect([star.status, star.json]).toEqual([404, inChat(/must begin with a slash/, "not_found")]);
    expect(inMessages.json).toMatchObject({ type: "error", error: { message: expect.stringMatching(/^WebSockets /) } });
    for (const { headers } of [old, socket, inMessages, star]) {
      expectIds(headers);
      expect(headers.get("x-should-retry")).toBe("false");
    }
  });

  test("no host: 400 in the path's format", async () => {
    const answer = await sendRaw(stack.url, "POST /v1/messages HTTP/1.1\r\n\r\n");
    expect(answer.status).toBe(400);
    expect(answer.json).toEqual({
      type: "error",
      error: { type: "invalid_request_error", message: "The request is not valid HTTP." },
      request_id: expectIds(answer.headers),
    });
  });
});

test("the access log has the client's path without its query, the id that the client got, and no credential", async () => {
  const { headers } = await send({
    script: "to-chat",
    path: "/v1/messages?key=in-the-query",
    headers: { authorization: "Bearer client" },
  });
  const id = headers.get("x-request-id");
  const line = await eventually(async () => {
    const found = (await stack.envoy.accessLog()).find((entry) => entry["request_id"] === id);
    if (found === undefined) throw new Error("the request is not in the access log yet");
    return found;
  });
  expect(line).toMatchObject({
    method: "POST",
    path: "/v1/messages",
    status: 503,
    flags: expect.stringContaining("UF"),
    upstream_cluster: DEAD,
    attempts: 3,
  });
  expect(JSON.stringify(await stack.envoy.accessLog())).not.toMatch(/in-the-query|Bearer/);
});

async function sendHttp2(body: Uint8Array): Promise<{ status: number }> {
  const session = connectHttp2(stack.url);
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  session.on("error", reject);
  const request = session.request({ ":method": "POST", ":path": "/v1/chat/completions", "x-script": "good" });
  request.on("error", reject);
  request.on("response", (headers) => resolve(Number(headers[":status"])));
  request.end(body);
  try {
    return { status: await promise };
  } finally {
    session.destroy();
  }
}

test("an Envoy that listens on :: takes IPv4 as well, and knows such clients by their IPv4 addresses", async () => {
  const port = await freePort();
  const dual = await startXdsStack({ listen: { host: "::", port } });
  for (const host of ["127.0.0.1", "[::1]"]) expect((await fetch(`http://${host}:${port}/v1/nothing`)).status).toBeGreaterThan(0);
  await eventually(async () => {
    const clients = (await dual.envoy.accessLog()).map(({ client }) => client);
    expect(clients).toEqual(["127.0.0.1", "::1"]);
  });
  await dual.stop();
});
