import { connect as connectHttp2 } from "node:http2";
import { connect as connectTcp } from "node:net";
import { link, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { Client, credentials, Metadata, status, type ClientDuplexStream, type ServiceError } from "@grpc/grpc-js";
import { afterEach, beforeEach, expect, test } from "vitest";
import { freePort } from "../../../local/process/ports.ts";
import { FRAME_HEADER_BYTES } from "../../../runtime/grpc-frame.ts";
import {
  startGrpcStreams,
  type GrpcHandler,
  type GrpcMetadata,
  type GrpcStream,
  type GrpcStreams,
} from "../../../runtime/grpc-streams.ts";
import { eventually } from "../../support/eventually.ts";

const METHOD = "/test.Words/Repeat";
const BACKGROUND_METHOD = "/test.Words/Report";
const MAX_MESSAGE_BYTES = 1024 * 1024;
const RAPID_RESETS = 500;
const SILENT_MS = 100;
const NEVER_MS = 3_600_000;

/** Repeats each word; some words mean something else. */
class Words implements GrpcHandler {
  readonly stream: GrpcStream;
  readonly metadata: GrpcMetadata;
  readonly heard: string[] = [];
  endings = 0;
  closings = 0;

  constructor(stream: GrpcStream, metadata: GrpcMetadata) {
    this.stream = stream;
    this.metadata = metadata;
  }

  message(message: Buffer): void {
    const word = message.toString();
    this.heard.push(word);
    if (word === "fail") this.stream.fail("as asked");
    else if (word === "throw") throw new Error("a bug");
    else this.stream.send(frame(message));
  }

  ended(): void {
    this.endings++;
    this.stream.end();
  }

  closed(): void {
    this.closings++;
  }
}

let directory: string;
let socket: string;
let server: GrpcStreams;
let client: Client;
let handlers: Words[];
let errors: unknown[];
beforeEach(async () => {
  directory = await mkdtemp(path.join(tmpdir(), "grpc-"));
  socket = path.join(directory, "socket");
  handlers = [];
  errors = [];
  server = await listen(NEVER_MS);
  client = new Client(`unix:${socket}`, credentials.createInsecure());
});
afterEach(async () => {
  client.close();
  await server.stop(0);
  await rm(directory, { recursive: true });
});

function handle(stream: GrpcStream, metadata: GrpcMetadata): GrpcHandler {
  const handler = new Words(stream, metadata);
  handlers.push(handler);
  return handler;
}

function listen(silentMs: number, address = `unix:${socket}`): Promise<GrpcStreams> {
  return startGrpcStreams({
    address,
    methods: { [METHOD]: { open: handle }, [BACKGROUND_METHOD]: { open: handle, isBackground: true } },
    maxMessageBytes: MAX_MESSAGE_BYTES,
    silentMs,
    onError: (error) => errors.push(error),
  });
}

function frame(message: Buffer): Buffer {
  const header = Buffer.alloc(FRAME_HEADER_BYTES);
  header.writeUInt32BE(message.length, 1);
  return Buffer.concat([header, message]);
}

type Call = ClientDuplexStream<Buffer, Buffer>;

function open(method = METHOD, metadata = new Metadata()): Call {
  const same = (bytes: Buffer) => bytes;
  return client.makeBidiStreamRequest(method, same, same, metadata);
}

/** Everything that comes until the call is over, and how it ended. */
async function finish(call: Call): Promise<{ received: string[]; code: status; details: string }> {
  const received: string[] = [];
  const { promise, resolve } = Promise.withResolvers<{ code: status; details: string }>();
  call.on("data", (message: Buffer) => received.push(message.toString()));
  call.on("error", ({ code, details }: ServiceError) => resolve({ code, details }));
  call.on("status", ({ code, details }) => resolve({ code, details }));
  const end = await promise;
  return { received, ...end };
}

test("a gRPC client gets its answers in order, and a successful end", async () => {
  const metadata = new Metadata();
  metadata.set("x-stage", "attempt");
  const call = open(METHOD, metadata);
  const large = "x".repeat(MAX_MESSAGE_BYTES - 1);
  for (const word of ["one", "", large, "two"]) call.write(Buffer.from(word));
  call.end();
  expect(await finish(call)).toEqual({ received: ["one", "", large, "two"], code: status.OK, details: "" });
  expect(handlers.map(({ metadata }) => metadata["x-stage"])).toEqual(["attempt"]);
  await eventually(() => expect([server.openStreams, handlers[0]?.closings]).toEqual([0, 1]));
});

test("a failed stream ends with an error, before the first answer and after", async () => {
  const failed = { code: status.UNAVAILABLE, details: "as asked" };
  const first = open();
  first.write(Buffer.from("fail"));
  expect(await finish(first)).toEqual({ received: [], ...failed });

  const second = open();
  for (const word of ["one", "fail", "two"]) second.write(Buffer.from(word));
  expect(await finish(second)).toEqual({ received: ["one"], ...failed });
  expect(handlers.map(({ heard }) => heard)).toEqual([["fail"], ["one", "fail"]]);
  await eventually(() => expect(server.openStreams).toBe(0));
});

test("a bug in a handler, and a message that is too large, fail only their own stream", async () => {
  const other = open();
  const otherEnd = finish(other);
  other.write(Buffer.from("one"));
  for (const message of [Buffer.from("throw"), Buffer.alloc(MAX_MESSAGE_BYTES + 1)]) {
    const call = open();
    call.write(message);
    expect(await finish(call)).toMatchObject({ received: [], code: status.UNAVAILABLE });
  }
  expect(errors.map(String)).toEqual([expect.stringContaining("a bug"), expect.stringContaining("too large")]);
  other.write(Buffer.from("two"));
  other.end();
  expect(await otherEnd).toMatchObject({ received: ["one", "two"], code: status.OK });
});

test("other methods do not exist", async () => {
  const call = open("/test.Words/Sing");
  call.end();
  expect(await finish(call)).toMatchObject({ code: status.UNIMPLEMENTED });
  expect(handlers).toEqual([]);
});

test("a stream that is reset as it is opened is closed", async () => {
  const frames = Array.from({ length: RAPID_RESETS }, (_, index) => {
    const stream = 2 * index + 1;
    const data =
      [[], [dataFrame(stream, { flags: 0, word: "one" })], [dataFrame(stream, { flags: END_STREAM, word: "one" })]][index % 3] ??
      [];
    return [headersFrame(stream), ...data, resetFrame(stream)];
  });
  const connection = connectTcp(socket).resume();
  connection.write(Buffer.concat([PREFACE, SETTINGS, ...frames.flat()]));
  // Each was told of its end, once; none was lost on the way.
  await eventually(() => {
    expect(handlers.length).toBe(RAPID_RESETS);
    expect(handlers.every(({ closings }) => closings === 1)).toBe(true);
  });
  expect(server.openStreams).toBe(0);
  connection.destroy();
});

test("a stream that is always silent is dropped, one that has sent a message is not", async () => {
  await server.stop(0);
  server = await listen(SILENT_MS);
  const spoken = open();
  spoken.write(Buffer.from("one"));
  const end = finish(spoken);
  await eventually(() => expect(server.openStreams).toBe(1));
  // Cancelled at once, this client tells the server nothing of it.
  const silent = open();
  const silentEnd = finish(silent);
  silent.cancel();
  await silentEnd;
  await eventually(() => expect(handlers.map(({ closings }) => closings)).toEqual([0, 1]));
  spoken.write(Buffer.from("two"));
  spoken.end();
  expect(await end).toMatchObject({ received: ["one", "two"], code: status.OK });
});

test("a failed stream that the other side does not end is dropped", async () => {
  await server.stop(0);
  server = await listen(SILENT_MS);
  const connection = connectTcp(socket).resume();
  connection.write(Buffer.concat([PREFACE, SETTINGS, headersFrame(1), dataFrame(1, { flags: 0, word: "fail" })]));
  await eventually(() =>
    expect(handlers.map(({ heard, closings }) => ({ heard, closings }))).toEqual([{ heard: ["fail"], closings: 1 }]),
  );
  expect(server.openStreams).toBe(0);
  connection.destroy();
});

test("only the other side ends a stream: one that breaks after a message is closed, and not ended", async () => {
  const connection = connectTcp(socket).resume();
  const spoken = (stream: number, flags: number) => [headersFrame(stream), dataFrame(stream, { flags, word: "one" })];
  connection.write(Buffer.concat([PREFACE, SETTINGS, ...spoken(1, END_STREAM), ...spoken(3, 0), ...spoken(5, 0)]));
  await eventually(() => expect(handlers.map(({ heard }) => heard)).toEqual([["one"], ["one"], ["one"]]));
  connection.write(resetFrame(3));
  await eventually(() => expect(server.openStreams).toBe(1));
  connection.destroy();
  await eventually(() => expect(handlers.map(({ closings }) => closings)).toEqual([1, 1, 1]));
  expect(handlers.map(({ endings }) => endings)).toEqual([1, 0, 0]);
});

test("streams of a connection that breaks are closed", async () => {
  const connection = connectTcp(socket).resume();
  connection.write(Buffer.concat([PREFACE, SETTINGS, headersFrame(1), headersFrame(3)]));
  await eventually(() => expect(server.openStreams).toBe(2));
  connection.destroy();
  await eventually(() => expect([server.openStreams, handlers.map(({ closings }) => closings)]).toEqual([0, [1, 1]]));
});

test("a flood of empty CONTINUATION frames, and anything but HTTP/2, end only their connection", async () => {
  const flood = Array.from({ length: 10_000 }, () => http2Frame(CONTINUATION, { flags: 0, stream: 1, payload: Buffer.alloc(0) }));
  const unfinished = http2Frame(1, { flags: 0, stream: 1, payload: Buffer.from([0x83]) });
  for (const hostile of [Buffer.concat([PREFACE, SETTINGS, unfinished, ...flood]), Buffer.from("GET / HTTP/1.1\r\n\r\n")]) {
    const connection = connectTcp(socket).resume();
    // The server may close before all of it is written.
    connection.on("error", () => {});
    const { promise: closed, resolve } = Promise.withResolvers<void>();
    connection.on("close", () => resolve());
    connection.write(hostile);
    await closed;
  }
  expect(handlers).toEqual([]);
  const call = open();
  call.write(Buffer.from("one"));
  call.end();
  expect(await finish(call)).toMatchObject({ received: ["one"], code: status.OK });
});

test("a stopping server lets streams finish, and accepts no more", async () => {
  const call = open();
  const end = finish(call);
  call.write(Buffer.from("one"));
  await eventually(() => expect(server.openStreams).toBe(1));
  const stopped = server.stop(60_000);
  call.write(Buffer.from("two"));
  call.end();
  expect(await end).toMatchObject({ received: ["one", "two"], code: status.OK });
  await stopped;
  const late = open();
  late.end();
  expect(await finish(late)).toMatchObject({ code: status.UNAVAILABLE });
});

test("a stopping server fails the remaining streams at the deadline", async () => {
  const call = open();
  const end = finish(call);
  call.write(Buffer.from("one"));
  await eventually(() => expect(server.openStreams).toBe(1));
  await server.stop(50);
  expect(await end).toMatchObject({ code: status.UNAVAILABLE });
  await eventually(() => expect([server.openStreams, handlers[0]?.closings]).toEqual([0, 1]));
});

test("the standard health check is answered, and is not a stream of the service", async () => {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const asBytes = (message: Buffer) => message;
  client.makeUnaryRequest("/grpc.health.v1.Health/Check", asBytes, asBytes, Buffer.alloc(0), (error, message) =>
    message === undefined ? reject(error ?? new Error("no answer")) : resolve(message),
  );
  // HealthCheckResponse { status: SERVING }
  expect(await promise).toEqual(Buffer.from([0x08, 0x01]));
  expect(handlers).toEqual([]);
  expect(server.openStreams).toBe(0);
});

const PREFACE = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
const SETTINGS = http2Frame(4, { flags: 0, stream: 0, payload: Buffer.alloc(0) });
const CONTINUATION = 9;
const END_HEADERS = 4;
const END_STREAM = 1;

function headersFrame(stream: number): Buffer {
  // HPACK: POST and http are in the static table; the names of path and authority are its entries 4 and 1.
  const payload = Buffer.concat([Buffer.from([0x83, 0x86, 0x04, METHOD.length]), Buffer.from(METHOD), Buffer.from([1, 1, 0x78])]);
  return http2Frame(1, { flags: END_HEADERS, stream, payload });
}

function dataFrame(stream: number, { flags, word }: { flags: number; word: string }): Buffer {
  return http2Frame(0, { flags, stream, payload: frame(Buffer.from(word)) });
}

function resetFrame(stream: number): Buffer {
  return http2Frame(3, { flags: 0, stream, payload: Buffer.from([0, 0, 0, 8]) });
}

function http2Frame(type: number, { flags, stream, payload }: { flags: number; stream: number; payload: Buffer }): Buffer {
  const header = Buffer.alloc(9);
  header.writeUIntBE(payload.length, 0, 3);
  header[3] = type;
  header[4] = flags;
  header.writeUInt32BE(stream, 5);
  return Buffer.concat([header, payload]);
}

test("a killed server's leftover socket is taken over, one in use is not", async () => {
  const living = socket;
  await expect(listen(NEVER_MS)).rejects.toThrow("EADDRINUSE");
  // A server that ends removes its own name only.
  const left = path.join(directory, "left");
  await link(living, left);
  await server.stop(0);
  socket = left;
  server = await listen(NEVER_MS);
  client.close();
  client = new Client(`unix:${left}`, credentials.createInsecure());
  const call = open();
  call.write(Buffer.from("one"));
  call.end();
  expect(await finish(call)).toMatchObject({ received: ["one"], code: status.OK });
});

test("a background stream is not counted, and a stop ends it after all others", async () => {
  const background = open(BACKGROUND_METHOD);
  background.write(Buffer.from("report"));
  const call = open();
  call.write(Buffer.from("one"));
  await eventually(() => expect(handlers.map(({ heard }) => heard)).toEqual([["report"], ["one"]]));
  expect(server.openStreams).toBe(1);
  const stopped = server.stop(NEVER_MS);
  background.write(Buffer.from("another"));
  await eventually(() => expect(handlers[0]?.heard).toEqual(["report", "another"]));
  call.end();
  expect(await finish(call)).toMatchObject({ code: status.OK });
  expect(await finish(background)).toMatchObject({ code: status.OK });
  await stopped;
});

test.for([
  { method: METHOD, name: "a stream", reported: 1 },
  { method: BACKGROUND_METHOD, name: "only a background stream", reported: 0 },
])("a connection that is reset with $name on it is reported $reported times", async ({ method, reported }) => {
  const port = await freePort();
  await server.stop(0);
  server = await listen(NEVER_MS, `127.0.0.1:${port}`);
  const connection = connectTcp(port, "127.0.0.1");
  const session = connectHttp2(`http://127.0.0.1:${port}`, { createConnection: () => connection });
  session.on("error", () => {});
  session.request({ ":method": "POST", ":path": method }, { endStream: false }).on("error", () => {});
  await eventually(() => expect(handlers).toHaveLength(1));
  connection.resetAndDestroy();
  await eventually(() => expect(handlers[0]?.closings).toBe(1));
  await server.stop(0);
  expect(errors).toHaveLength(reported);
});
