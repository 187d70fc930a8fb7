import type { ServerResponse } from "node:http";
import { connect, type Socket } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { buildSnapshot } from "../../../operator/xds/snapshot.ts";
import { eventually } from "../../support/eventually.ts";
import { startRecordingUpstream, type RecordingUpstream } from "../../support/servers/recording-upstream.ts";
import { loopbackEndpoint, startXdsStack, type XdsStack } from "../../support/stacks/xds-stack.ts";

/** Clients that hold on to what they have by giving or taking next to nothing (docs/backends.md, Overload and limits), with the product's times made short. */
const SHORT = [
  { from: '"request_headers_timeout":"10s"', to: '"request_headers_timeout":"1s"' },
  { from: '"request_timeout":"300s"', to: '"request_timeout":"3s"' },
  { from: '"stream_idle_timeout":"60s"', to: '"stream_idle_timeout":"1.5s"' },
  // Of the routes to model servers, and of a connection without a request.
  { from: '"idle_timeout":"300s"', to: '"idle_timeout":"2s"' },
  { from: '"idle_timeout":"600s"', to: '"idle_timeout":"4s"' },
];
const CLUSTER = "model/m/patient/00000001";
const PIECE = Buffer.alloc(64 * 1024, "x");
/** More than the sockets in between and Envoy hold. */
const WHOLE_BYTES = 12 * 1024 * 1024;
const EVERY_MS = 100;
const PAUSE_MS = 2;

let stack: XdsStack;
let server: RecordingUpstream;

/** Answers that the model server is still at. */
let talking = 0;

/** A stream that is as long as it is taken, or of so many bytes. */
function talk(response: ServerResponse, maxBytes = Infinity): void {
  let leftBytes = maxBytes;
  talking += 1;
  response.once("close", () => {
    talking -= 1;
    leftBytes = 0;
  });
  response.writeHead(200, { "content-type": "text/event-stream" });
  const more = () => {
    if (leftBytes <= 0) return void response.end();
    leftBytes -= PIECE.length;
    // With pauses: this process looks at Envoy meanwhile, and passes every piece as the processor.
    response.write(PIECE, () => void setTimeout(more, PAUSE_MS));
  };
  more();
}

beforeAll(async () => {
  server = await startRecordingUpstream((request, response) =>
    talk(response, request.headers["x-whole"] === undefined ? Infinity : WHOLE_BYTES),
  );
  stack = await startXdsStack({ bootstrapChanges: SHORT });
  const clusters = new Map([[CLUSTER, loopbackEndpoint(server.port)]]);
  stack.xds.push(buildSnapshot({ clusters, secrets: new Map() }));
  await stack.xds.waitForAck(5_000);
  stack.scripts.set("ask", { kind: "route", cluster: CLUSTER, streams: true });
});
afterAll(async () => {
  await stack?.stop();
  await server?.stop();
});

interface Slow {
  socket: Socket;
  /** All that came back, when the other side has closed. */
  closed: Promise<string>;
  stop(): void;
}

/** Sends `first`, and `then` again and again until it is cut. */
function slowly(first: string, then = ""): Slow {
  const { hostname, port } = new URL(stack.url);
  const { promise: closed, resolve } = Promise.withResolvers<string>();
  let answer = "";
  let timer: NodeJS.Timeout | undefined;
  const more = () => {
    if (answer === "" && socket.writable) socket.write(then);
  };
  const socket = connect(Number(port), hostname, () => {
    socket.write(first);
    // After what has come in: a write to a connection that the other side has closed would throw away an unread answer.
    if (then !== "") timer = setInterval(() => setImmediate(more), EVERY_MS);
  });
  socket.on("data", (piece) => (answer += piece.toString("latin1")));
  // Envoy resets what it cuts.
  socket.on("error", () => {});
  socket.on("close", () => {
    clearInterval(timer);
    resolve(answer);
  });
  return { socket, closed, stop: () => void socket.destroy() };
}

const head = (path: string, lines: readonly string[]) =>
  [`POST ${path} HTTP/1.1`, "host: x", "x-script: ask", ...lines].join("\r\n");

test.for([
  ["chat", "/v1/chat/completions"],
  ["messages", "/v1/messages"],
] as const)("headers that arrive a byte at a time are not waited for: %s", async ([, path]) => {
  const answer = await slowly(`${head(path, [])}\r\nx-long: `, "a").closed;
  expect(answer).toMatch(/^HTTP\/1\.1 408 /);
  expect(answer).toMatch(/connection: close/i);
});

test("a connection that sends only part of a line is closed", async () => {
  expect(await slowly("POST /v1/mess").closed).toMatch(/^$|^HTTP\/1\.1 408 /);
});

test.for([
  { name: "that stops", next: "" },
  { name: "that comes a byte at a time", next: "x" },
])("a body $name is not waited for, and its sender gets an error in its own format", async ({ next }) => {
  for (const { path, shape } of [
    {
      path: "/v1/chat/completions",
      shape: { error: { message: expect.any(String), type: "invalid_request_error", param: null, code: null } },
    },
    {
      path: "/v1/messages",
      shape: {
        type: "error",
        error: { type: "invalid_request_error", message: expect.any(String) },
        request_id: expect.any(String),
      },
    },
  ]) {
    const answer = await slowly(`${head(path, ["content-length: 100000"])}\r\n\r\n{"model":`, next).closed;
    expect(answer).toMatch(/^HTTP\/1\.1 408 /);
    expect(JSON.parse(/\{.*\}/s.exec(answer)?.[0] ?? "")).toEqual(shape);
  }
});

test("chunks that arrive one by one are not waited for endlessly", async () => {
  const chunked = `${head("/v1/messages", ["transfer-encoding: chunked"])}\r\n\r\n1\r\n{\r\n`;
  expect(await slowly(chunked, "1\r\nx\r\n").closed).toMatch(/^HTTP\/1\.1 408 /);
});

const held = async () => {
  const stats = await stack.envoy.admin("/stats?filter=^http.clients.downstream_(cx_active|cx_tx_bytes_buffered)$");
  return [...stats.matchAll(/: (\d+)$/gm)].map(([, count]) => Number(count));
};

test.for([
  { name: "an answer without end", lines: [] },
  { name: "an answer that is whole", lines: ["x-whole: 1"] },
])("a client that does not read $name is cut off; neither the model server nor Envoy keeps it", async ({ lines }) => {
  const slow = slowly(`${head("/v1/messages", ["content-length: 2", ...lines])}\r\n\r\n{}`);
  slow.socket.pause();
  await eventually(() => expect(server.requests.length).toBeGreaterThan(0));
  // It is full of what nobody takes.
  await eventually(async () => expect((await held()).at(1)).toBeGreaterThan(64 * 1024));
  await eventually(() => expect(talking).toBe(0), { withinMs: 60_000 });
  await eventually(async () => expect(await held()).toEqual([0, 0]), { withinMs: 60_000 });
  slow.stop();
});

test("a client that reads gets the complete answer, however slowly", async () => {
  const slow = slowly(`${head("/v1/messages", ["content-length: 2", "x-whole: 1", "connection: close"])}\r\n\r\n{}`);
  const pausing = setInterval(() => {
    slow.socket.pause();
    setTimeout(() => slow.socket.resume(), EVERY_MS / 2);
  }, EVERY_MS);
  const answer = await slow.closed;
  clearInterval(pausing);
  expect(answer.split("x").length - 1).toBeGreaterThanOrEqual(WHOLE_BYTES);
});

test("two hundred of them at once do not keep others from being answered", async () => {
  stack.scripts.set("answer", { kind: "answer", status: 200, body: "{}", details: "gateway_answer" });
  const slow = Array.from({ length: 200 }, (_, at) =>
    at % 2 === 0
      ? slowly(`${head("/v1/messages", [])}\r\nx-long: `, "a")
      : slowly(`${head("/v1/messages", ["content-length: 9"])}\r\n\r\n{`),
  );
  const ask = () => fetch(`${stack.url}/v1/messages`, { method: "POST", headers: { "x-script": "answer" }, body: "{}" });
  for (let at = 0; at < 20; at++) {
    const answer = await ask();
    expect(answer.status, await answer.text()).toBe(200);
  }
  for (const { closed } of slow) expect(await closed).toMatch(/^HTTP\/1\.1 408 /);
});
