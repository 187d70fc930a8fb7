import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { eventually } from "../../support/eventually.ts";
import { openStreams } from "../../support/wire/header-references.ts";
import { startXdsStack, type XdsStack } from "../../support/stacks/xds-stack.ts";

/** As many clients as file descriptors allow, of which local/process/descriptors.ts makes a number. */
const MOST = 20;
/** Envoy's histogram. */
const ACCEPTED_AT_ONCE = "connections_accepted_per_socket_event";
/** Of HTTP/2 (RFC 9113). */
const REFUSED_STREAM = 7;
const INTERNAL_ERROR = 2;
let stack: XdsStack;
beforeAll(async () => {
  stack = await startXdsStack({ maxConnections: MOST });
  stack.scripts.set("answer", { kind: "answer", status: 200, body: "{}", details: "scripted" });
  // Waits for the body, which does not come.
  stack.scripts.set("wait", { kind: "close" });
});
afterAll(() => stack.stop());

const ask = async () =>
  (await fetch(`${stack.url}/v1/models`, { headers: { "x-script": "answer", connection: "close" } })).status;

test("a client beyond the limit is refused at once and does not wait; Envoy's admin port answers; later clients are served", async () => {
  expect(await ask()).toBe(200);
  const port = Number(new URL(stack.url).port);
  const held: Socket[] = [];
  const closed = new Set<Socket>();
  for (let index = 0; index < MOST + 15; index++) {
    const socket = connect(port, "127.0.0.1");
    socket.on("error", () => undefined);
    socket.once("close", () => closed.add(socket));
    socket.resume();
    await once(socket, "connect");
    held.push(socket);
  }
  await eventually(() => expect(closed.size).toBeGreaterThanOrEqual(15));
  expect(held.length - closed.size).toBeGreaterThan(0);
  await expect(ask()).rejects.toThrow("fetch failed");
  expect(await stack.envoy.admin("/ready")).toContain("LIVE");

  for (const socket of held) socket.destroy();
  await eventually(async () => expect(await ask()).toBe(200));
});

test("new connections are accepted one at a time, so that open ones have their turn in between", async () => {
  const port = Number(new URL(stack.url).port);
  // The last ones are refused at once: what counts is that they all came together.
  const sockets = Array.from({ length: 200 }, () => {
    const socket = connect(port, "127.0.0.1");
    socket.on("error", () => undefined);
    return socket;
  });
  await Promise.all(sockets.map((socket) => once(socket, "connect")));
  for (const socket of sockets) socket.destroy();
  await eventually(async () => {
    const summary = await stack.envoy.admin(`/stats?filter=127.*${ACCEPTED_AT_ONCE}&histogram_buckets=detailed`);
    // Each number of connections, the width of its bucket, and how often Envoy accepted so many.
    const [, number, times] = /totals=([\d.]+),[\d.]+:(\d+)$/m.exec(summary) ?? [];
    expect(number, summary).toBe("1");
    expect(Number(times)).toBeGreaterThanOrEqual(sockets.length);
  });
});

const active = () => stack.envoy.admin("/stats?filter=http.clients.downstream_rq_active");

test("an HTTP/2 connection has 128 streams at a time, so that a few bytes for each do not become gigabytes of headers", async () => {
  const client = openStreams(stack.url, { streams: 200, references: 7 });
  try {
    await eventually(() => expect(client.resets()).toEqual(Array.from({ length: 72 }, () => REFUSED_STREAM)));
    await eventually(async () => expect(await active()).toContain("downstream_rq_active: 128"));
  } finally {
    client.close();
  }
});

test("headers count with what their references stand for: beyond 32 KiB a stream ends before anything is done for it", async () => {
  await eventually(async () => expect(await active()).toContain("downstream_rq_active: 0"));
  const client = openStreams(stack.url, { streams: 50, references: 9 });
  try {
    await eventually(() => expect(client.resets()).toEqual(Array.from({ length: 50 }, () => INTERNAL_ERROR)));
    expect(await active()).toContain("downstream_rq_active: 0");
  } finally {
    client.close();
  }
});
