import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import { startXdsStack, type XdsStack } from "../support/xds-stack.ts";

/** As many clients as file descriptors allow, of which local/process/descriptors.ts makes a number. */
const MOST = 20;
/** Envoy's histogram. */
const ACCEPTED_AT_ONCE = "connections_accepted_per_socket_event";
let stack: XdsStack;
beforeAll(async () => {
  stack = await startXdsStack({ maxConnections: MOST });
  stack.scripts.set("answer", { kind: "answer", status: 200, body: "{}", details: "scripted" });
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
