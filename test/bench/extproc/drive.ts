import { connect, type ClientHttp2Session } from "node:http2";
import { createConnection } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { createReader } from "../../../extproc/wire/reader.ts";
import { createFrameReader } from "../../../runtime/grpc-frame.ts";
import type { ExtprocLoad } from "./load.ts";

const PATH = "/envoy.service.ext_proc.v3.ExternalProcessor/Process";
const MAX_MESSAGE_BYTES = 4 * 1024 * 1024;

/** Sends all requests of a load to the ext_proc server at this Unix socket. Rejects if one is refused or fails. */
export async function drive(socket: string, load: ExtprocLoad): Promise<void> {
  const session = connect("http://extproc", { createConnection: () => createConnection(socket) });
  let left = load.requests;
  async function work(): Promise<void> {
    while (left-- > 0) await request(session, load);
  }
  try {
    await Promise.all(Array.from({ length: load.connections }, work));
  } finally {
    session.destroy();
  }
}

async function request(session: ClientHttp2Session, { before, body, gapMs }: ExtprocLoad): Promise<void> {
  const stream = session.request({ ":method": "POST", ":path": PATH, te: "trailers", "content-type": "application/grpc" });
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let replies = 0;

  async function sendBody(): Promise<void> {
    for (const message of body) {
      stream.write(message);
      if (gapMs > 0) await sleep(gapMs);
    }
  }

  const reader = createFrameReader(MAX_MESSAGE_BYTES, (message) => {
    replies += 1;
    const next = before[replies];
    if (isRefusal(message)) reject(new Error(`extproc refused a request: ${message.toString("latin1")}`));
    else if (next !== undefined) stream.write(next);
    else if (replies === before.length) sendBody().catch(reject);
    else if (isLast(message)) stream.end();
  });
  stream.on("data", (chunk: Buffer) => reader.push(chunk));
  stream.on("error", reject);
  stream.on("close", resolve);
  stream.write(before[0]);
  await promise;
}

const RESPONSE_BODY = 4;
const IMMEDIATE_RESPONSE = 7;
/** From the reply to a part of a body to the StreamedBodyResponse, whose field 2 is its end (extproc/reply.ts). */
const TO_STREAMED = [RESPONSE_BODY, 1, 3, 3];
const fields = createReader();

function isRefusal(message: Buffer): boolean {
  return rangeOf(message, [IMMEDIATE_RESPONSE]) !== null;
}

/** A whole body is one reply. */
function isLast(message: Buffer): boolean {
  const streamed = rangeOf(message, TO_STREAMED);
  if (streamed === null) return true;
  fields.enter(message, streamed.start, streamed.end);
  while (fields.next()) if (fields.field === 2) return fields.varint === 1;
  return false;
}

/** The field that this path of field numbers leads to; null if there is none. */
function rangeOf(message: Buffer, path: readonly number[]): { start: number; end: number } | null {
  let range: { start: number; end: number } | null = { start: 0, end: message.length };
  for (const field of path) {
    fields.enter(message, range.start, range.end);
    range = null;
    while (range === null && fields.next()) if (fields.field === field) range = { start: fields.start, end: fields.end };
    if (range === null) return null;
  }
  return range;
}
