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

/** Of HTTP/2 (RFC 9113). */
const PREFACE = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
const FRAME = { headers: 1, reset: 3, settings: 4 };
const END_HEADERS = 4;
const REFUSED_STREAM = 7;
const HEAD_BYTES = 9;
/** Of HPACK (RFC 7541): a literal that is kept in the table, one that is not, and the newest entry of the table. */
const KEPT = 0x40;
const NOT_KEPT = 0;
const NEWEST = Buffer.from([0x80 | 62]);

function frame(type: number, flags: number, stream: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(HEAD_BYTES);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

function header(kind: number, name: string, value: string): Buffer {
  const text = Buffer.from(value);
  // Lengths from 127 on continue in groups of seven bits.
  const length = text.length < 127 ? [text.length] : [127, 0x80 | ((text.length - 127) & 0x7f), (text.length - 127) >> 7];
  return Buffer.concat([Buffer.from([kind, name.length]), Buffer.from(name), Buffer.from(length), text]);
}

/** Codes of the streams that were reset in what has come. */
function resetsIn(received: Buffer): number[] {
  const codes: number[] = [];
  for (let at = 0; at + HEAD_BYTES <= received.length; at += HEAD_BYTES + received.readUIntBE(at, 3))
    if (received.readUInt8(at + 3) === FRAME.reset && at + HEAD_BYTES + 4 <= received.length)
      codes.push(received.readUInt32BE(at + HEAD_BYTES));
  return codes;
}

test("an HTTP/2 connection has 128 streams at a time, so that a few bytes for each do not become gigabytes of headers", async () => {
  const requested = {
    ":method": "POST",
    ":scheme": "http",
    ":authority": "gateway",
    ":path": "/v1/chat/completions",
    "x-script": "wait",
  };
  const request = Buffer.concat(Object.entries(requested).map(([name, value]) => header(NOT_KEPT, name, value)));
  const large = header(KEPT, "x-large", "a".repeat(3_900));
  const streams = Array.from({ length: 200 }, (_, index) => {
    const headers = [request, ...(index === 0 ? [large] : []), ...Array.from({ length: 14 }, () => NEWEST)];
    return frame(FRAME.headers, END_HEADERS, 1 + 2 * index, Buffer.concat(headers));
  });
  const socket = connect(Number(new URL(stack.url).port), "127.0.0.1");
  let received: Buffer = Buffer.alloc(0);
  socket.on("error", () => undefined);
  socket.on("data", (piece) => (received = Buffer.concat([received, piece])));
  socket.write(Buffer.concat([PREFACE, frame(FRAME.settings, 0, 0, Buffer.alloc(0)), ...streams]));
  try {
    await eventually(() => expect(resetsIn(received)).toEqual(Array.from({ length: 72 }, () => REFUSED_STREAM)));
    await eventually(async () =>
      expect(await stack.envoy.admin("/stats?filter=http.clients.downstream_rq_active")).toContain("downstream_rq_active: 128"),
    );
  } finally {
    socket.destroy();
  }
});
