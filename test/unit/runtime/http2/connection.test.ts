import { once } from "node:events";
import { connect as connectHttp2, constants, type ClientHttp2Session, type ClientHttp2Stream } from "node:http2";
import { connect as connectTcp, createServer, type AddressInfo, type Server } from "node:net";
import fc from "fast-check";
import { afterEach, beforeEach, expect, test } from "vitest";
import { serveHttp2, type Http2Connection, type Http2Headers, type Http2Stream } from "../../../../runtime/http2/connection.ts";
import { encodeHeaders } from "../../../../runtime/http2/encode-headers.ts";
import { encodeNumber, encodeSettings, FLAG, FRAME, writeFrameHeader } from "../../../../runtime/http2/frame.ts";
import { eventually } from "../../../support/eventually.ts";

/** What one stream has seen. */
interface Seen {
  stream: Http2Stream;
  headers: Http2Headers;
  body: string;
  isEnded: boolean;
  closings: number;
}

const GOOD = encodeHeaders({ ":status": "200" });
const LARGE = 300_000;

let server: Server;
let port: number;
let connections: Set<Http2Connection>;
let seen: Seen[];
let errors: unknown[];
/** What the server does with a stream that the client has ended. */
let onEnded: (each: Seen) => void;
beforeEach(async () => {
  connections = new Set();
  seen = [];
  errors = [];
  onEnded = ({ stream, body }) => {
    stream.headers(GOOD, false);
    stream.data(Buffer.from(body));
    stream.headers(encodeHeaders({ "x-end": "yes" }), true);
  };
  server = createServer((socket) => {
    const connection = serveHttp2(socket, {
      open(stream, headers) {
        const each: Seen = { stream, headers, body: "", isEnded: false, closings: 0 };
        seen.push(each);
        return {
          data: (bytes) => void (each.body += bytes.toString("latin1")),
          ended() {
            each.isEnded = true;
            onEnded(each);
          },
          closed: () => void each.closings++,
        };
      },
      onError: (error) => errors.push(error),
      onClose: () => connections.delete(connection),
    });
    connections.add(connection);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  port = portOf(server.address());
});
afterEach(() => {
  for (const connection of connections) connection.destroy();
  server.close();
});

function portOf(address: AddressInfo | string | null): number {
  if (address === null || typeof address === "string") throw new Error("the server has no port");
  return address.port;
}

async function withClient<Result>(
  work: (client: ClientHttp2Session) => Promise<Result>,
  settings: { initialWindowSize?: number } = {},
): Promise<Result> {
  const client = connectHttp2(`http://127.0.0.1:${port}`, { settings });
  try {
    return await work(client);
  } finally {
    client.destroy();
  }
}

async function finish(call: ClientHttp2Stream): Promise<{ body: string; trailers: Record<string, unknown> }> {
  const parts: Buffer[] = [];
  let trailers: Record<string, unknown> = {};
  call.on("trailers", (found) => (trailers = { ...found }));
  for await (const part of call) parts.push(part);
  return { body: Buffer.concat(parts).toString("latin1"), trailers };
}

test("headers arrive as Node's client sends them, however often and however long", async () => {
  const name = fc.stringMatching(/^x-[a-z0-9-]{1,12}$/);
  // Huffman-coded or not, in the table or not, pushed out of it again.
  const value = fc.oneof(fc.constantFrom("a", "attempt", "application/grpc"), fc.stringMatching(/^[\x21-\x7e]{1,300}$/));
  await withClient(async (client) => {
    await fc.assert(
      fc.asyncProperty(fc.dictionary(name, value, { maxKeys: 12 }), async (headers) => {
        seen.length = 0;
        await finish(client.request({ ":method": "POST", ":path": "/x", ...headers }).end());
        const found = [...(seen[0]?.headers ?? [])];
        expect(Object.fromEntries(found.filter(([name]) => name.startsWith("x-")))).toEqual({ ...headers });
        expect(found).toContainEqual([":path", "/x"]);
      }),
      { numRuns: 150 },
    );
  });
  expect(errors).toEqual([]);
});

test("a large answer goes as far as the client gives it room, and then on", async () => {
  for (const initialWindowSize of [1_000, 65_535, 1_000_000]) {
    await withClient(
      async (client) => {
        const calls = Array.from({ length: 4 }, () => client.request({ ":method": "POST", ":path": "/" }).end("x".repeat(LARGE)));
        for (const answer of await Promise.all(calls.map(finish))) {
          expect(answer.body.length).toBe(LARGE);
          expect(answer.trailers).toMatchObject({ "x-end": "yes" });
        }
      },
      { initialWindowSize },
    );
  }
  expect(seen.every(({ closings }) => closings === 1)).toBe(true);
  expect(errors).toEqual([]);
});

test("a client that changes its mind about the room gets everything in order", async () => {
  await withClient(
    async (client) => {
      const text = Array.from({ length: LARGE / 10 }, (_, index) => String(index).padStart(10, "0")).join("");
      const call = client.request({ ":method": "POST", ":path": "/" });
      call.end(text);
      const answer = finish(call);
      for (const initialWindowSize of [10, 50_000, 100]) client.settings({ initialWindowSize });
      expect((await answer).body).toBe(text);
    },
    { initialWindowSize: 500 },
  );
});

test("more than both windows hold goes through in either direction", async () => {
  const many = 20 * 1024 * 1024;
  onEnded = ({ stream, body }) => {
    stream.headers(GOOD, false);
    for (let at = 0; at < body.length; at += 1_000_000) stream.data(Buffer.from(body.slice(at, at + 1_000_000)));
    stream.headers(encodeHeaders({ "x-end": "yes" }), true);
  };
  const { body } = await withClient((client) =>
    finish(client.request({ ":method": "POST", ":path": "/" }).end("y".repeat(many))),
  );
  expect(body.length).toBe(many);
});

test("a ping is answered, and a reset closes its stream alone", async () => {
  await withClient(async (client) => {
    await once(client, "connect");
    const payload = await new Promise<Buffer>((resolve, reject) =>
      client.ping(Buffer.from("12345678"), (error, _, payload) => (error === null ? resolve(payload) : reject(error))),
    );
    expect(payload.toString()).toBe("12345678");
    const first = client.request({ ":method": "POST", ":path": "/1" });
    const second = client.request({ ":method": "POST", ":path": "/2" });
    first.on("error", () => {});
    await eventually(() => expect(seen.length).toBe(2));
    first.close(constants.NGHTTP2_CANCEL);
    await eventually(() => expect(seen.map(({ closings }) => closings)).toEqual([1, 0]));
    expect((await finish(second.end("two"))).body).toBe("two");
  });
});

test("a connection that is shut takes no new streams, lets the others end, and closes", async () => {
  await withClient(async (client) => {
    const running = client.request({ ":method": "POST", ":path": "/" });
    await eventually(() => expect(seen.length).toBe(1));
    for (const connection of connections) connection.shut();
    expect((await finish(running.end("late"))).body).toBe("late");
    await eventually(() => expect([client.destroyed, connections.size]).toEqual([true, 0]));
  });
  expect(errors).toEqual([]);
});

const PREFACE = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
const BLOCK = Buffer.concat([Buffer.from([0x83, 0x86, 0x04, 2]), Buffer.from("/x"), Buffer.from([1, 1, 0x78])]);

function frame(type: number, { flags, streamId }: { flags: number; streamId: number }, payload: Buffer): Buffer {
  const bytes = Buffer.alloc(9 + payload.length);
  writeFrameHeader(bytes, 0, { type, flags, streamId, length: payload.length });
  payload.copy(bytes, 9);
  return bytes;
}

async function withRaw(frames: readonly Buffer[], work: () => Promise<void>, cut = Infinity): Promise<void> {
  const bytes = Buffer.concat([PREFACE, frame(FRAME.settings, { flags: 0, streamId: 0 }, Buffer.alloc(0)), ...frames]);
  const socket = connectTcp(port, "127.0.0.1").setNoDelay().resume();
  socket.on("error", () => {});
  for (let at = 0; at < bytes.length; at += cut) {
    socket.write(bytes.subarray(at, at + cut));
    if (cut < Infinity) await new Promise((resolve) => setImmediate(resolve));
  }
  try {
    await work();
  } finally {
    socket.destroy();
  }
}

test("frames may be cut anywhere, padded, in pieces, and of kinds that say nothing", async () => {
  const [half, rest] = [BLOCK.subarray(0, 3), BLOCK.subarray(3)];
  const padded = Buffer.concat([Buffer.from([4]), Buffer.from("two"), Buffer.alloc(4)]);
  const prioritized = Buffer.concat([Buffer.from([2]), Buffer.alloc(5), half, Buffer.alloc(2)]);
  const frames = [
    frame(FRAME.headers, { flags: FLAG.padded | FLAG.priority, streamId: 1 }, prioritized),
    frame(FRAME.continuation, { flags: FLAG.endHeaders, streamId: 1 }, rest),
    frame(2, { flags: 0, streamId: 1 }, Buffer.alloc(5)),
    frame(0xbe, { flags: 0xff, streamId: 0 }, Buffer.from("later kinds are passed over")),
    frame(FRAME.data, { flags: 0, streamId: 1 }, Buffer.from("one")),
    frame(FRAME.data, { flags: 0, streamId: 1 }, Buffer.alloc(0)),
    frame(FRAME.data, { flags: FLAG.padded, streamId: 1 }, padded),
    frame(FRAME.windowUpdate, { flags: 0, streamId: 7 }, encodeNumber(5)),
    frame(FRAME.reset, { flags: 0, streamId: 9 }, encodeNumber(8)),
    frame(FRAME.settings, { flags: 0, streamId: 0 }, encodeSettings(new Map([[1, 4096]]))),
    frame(FRAME.data, { flags: FLAG.endStream, streamId: 1 }, Buffer.from("three")),
  ];
  for (const cut of [Infinity, 1, 7]) {
    seen.length = 0;
    await withRaw(
      frames,
      async () => {
        await eventually(() => expect(seen).toMatchObject([{ body: "onetwothree", isEnded: true, closings: 1 }]));
        expect(errors).toEqual([]);
      },
      cut,
    );
    expect(seen[0]?.headers.get(":path")).toBe("/x");
    // The client has hung up on what it did not read.
    await eventually(() => expect(connections.size).toBe(0));
    errors.length = 0;
  }
});

test.for<[string, readonly Buffer[]]>([
  ["a block of headers that names no entry", [frame(1, { flags: 4, streamId: 1 }, Buffer.from([0xff, 0x7f]))]],
  ["a block of headers that ends inside a string", [frame(1, { flags: 4, streamId: 1 }, Buffer.from([0, 5, 0x78]))]],
  ["a Huffman string that is cut", [frame(1, { flags: 4, streamId: 1 }, Buffer.from([0, 1, 0x78, 0x81, 0]))]],
  ["a table that is made larger", [frame(1, { flags: 4, streamId: 1 }, Buffer.from([0x3f, 0xff, 0x7f]))]],
  [
    "headers that never end",
    Array.from({ length: 6 }, (_, at) => frame(at === 0 ? 1 : 9, { flags: 0, streamId: 1 }, Buffer.alloc(16_000, 0x83))),
  ],
  ["a frame inside a block of headers", [frame(1, { flags: 0, streamId: 1 }, BLOCK), frame(0, { flags: 0, streamId: 1 }, BLOCK)]],
  ["more padding than payload", [frame(1, { flags: 0xc, streamId: 1 }, Buffer.from([9, 1]))]],
  ["a stream of the server's", [frame(1, { flags: 4, streamId: 2 }, BLOCK)]],
  ["a frame that is too large", [frame(0, { flags: 0, streamId: 1 }, Buffer.alloc(16_385))]],
  ["a window beyond its bounds", Array.from({ length: 2 }, () => frame(8, { flags: 0, streamId: 0 }, encodeNumber(2 ** 31 - 1)))],
])("%s ends the connection, and is told", async ([, frames]) => {
  await withRaw(frames, async () => {
    await eventually(() => expect([errors.length, connections.size]).toEqual([1, 0]));
  });
  expect(seen.every(({ closings }) => closings === 1)).toBe(true);
});

test("what is not HTTP/2 is not talked to", async () => {
  const socket = connectTcp(port, "127.0.0.1").resume();
  socket.write("GET / HTTP/1.1\r\nhost: x\r\n\r\n");
  await eventually(() => expect(socket.destroyed).toBe(true));
  expect(errors.map(String)).toEqual([expect.stringContaining("does not speak HTTP/2")]);
});

test("whatever bytes come, each stream ends once and others are served", async () => {
  const byte = fc.integer({ min: 0, max: 255 });
  const noise = fc.array(byte, { maxLength: 200 }).map((bytes) => Buffer.from(bytes));
  const made = fc
    .tuple(fc.integer({ min: 0, max: 12 }), byte, fc.integer({ min: 0, max: 6 }), noise)
    .map(([type, flags, streamId, payload]) => frame(type, { flags, streamId }, payload));
  const good = fc.constant(frame(FRAME.headers, { flags: FLAG.endHeaders, streamId: 1 }, BLOCK));
  await fc.assert(
    fc.asyncProperty(fc.array(fc.oneof(made, good, noise), { maxLength: 8 }), async (frames) => {
      seen.length = 0;
      await withRaw(frames, async () => {});
      await eventually(() => expect(connections.size).toBe(0));
      expect(seen.every(({ closings }) => closings === 1)).toBe(true);
    }),
    { numRuns: 300 },
  );
  expect((await withClient((client) => finish(client.request({ ":method": "POST", ":path": "/" }).end("still")))).body).toBe(
    "still",
  );
});
