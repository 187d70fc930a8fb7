import type { ServerResponse } from "node:http";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import type { Directive } from "./directive.ts";
import { drained } from "./drained.ts";
import { encodeSse, type SseEvent } from "./sse.ts";

/** Everything written has left for the client by then, so that a reset does not overtake it. */
const ON_THE_WIRE_MS = 20;

/** Sends a stream in the pieces and with the faults that the directive requests. */
export async function deliverStream(
  response: ServerResponse,
  events: Iterable<SseEvent>,
  { directive, errorEvent }: { directive: Directive; errorEvent: SseEvent },
): Promise<void> {
  const lineEnd = directive.isCrlf ? "\r\n" : "\n";
  const write = createWriter(response, directive);
  let sent = 0;
  for (const event of scripted(events, directive, errorEvent)) {
    if (event === "stall") return await forever(response);
    if (event === "reset") return await reset(response);
    if (directive.chunkMs > 0 && sent > 0) await sleep(directive.chunkMs);
    if (response.destroyed) return;
    await write(encodeSse(event, lineEnd));
    sent += 1;
  }
  await write.flush();
  response.end();
}

/** Sends sound in pieces, with the faults that the directive requests after some of them. */
export async function deliverSound(response: ServerResponse, pieces: Iterable<Buffer>, directive: Directive): Promise<void> {
  const { cutAfter, resetAfter, stallAfter, chunkMs } = directive;
  let sent = 0;
  for (const piece of pieces) {
    if (sent === cutAfter) break;
    if (sent === resetAfter) return await reset(response);
    if (sent === stallAfter) return await forever(response);
    if (chunkMs > 0 && sent > 0) await sleep(chunkMs);
    if (response.destroyed) return;
    if (!response.write(piece)) await drained(response);
    sent += 1;
  }
  response.end();
}

/** Sends a complete body; cut and reset apply after half of it. */
export async function deliverBody(response: ServerResponse, body: string, directive: Directive): Promise<void> {
  if (directive.cutAfter === undefined && directive.resetAfter === undefined) {
    response.setHeader("content-length", Buffer.byteLength(body));
    response.end(body);
    return;
  }
  const half = body.slice(0, body.length / 2);
  if (directive.cutAfter !== undefined) {
    response.end(half);
    return;
  }
  response.setHeader("content-length", Buffer.byteLength(body));
  response.write(half);
  await reset(response);
}

/** The client sees a connection reset, after everything written so far. */
export async function reset(response: ServerResponse): Promise<void> {
  if (response.headersSent) await sleep(ON_THE_WIRE_MS);
  response.socket?.resetAndDestroy();
}

/** Waits until the client disconnects. */
export async function forever(response: ServerResponse): Promise<void> {
  if (!response.destroyed) await once(response, "close");
}

function* scripted(
  events: Iterable<SseEvent>,
  directive: Directive,
  errorEvent: SseEvent,
): Generator<SseEvent | "stall" | "reset"> {
  const { cutAfter, resetAfter, errorAfter, stallAfter } = directive;
  let sent = 0;
  for (const event of events) {
    if (sent === cutAfter) return;
    if (sent === resetAfter) return yield "reset";
    if (sent === errorAfter) return yield errorEvent;
    if (sent === stallAfter) return yield "stall";
    if (directive.isGarbage && sent === 1) yield { ...event, data: "{this is not JSON" };
    else yield event;
    sent += 1;
  }
}

interface Writer {
  (text: string): Promise<void>;
  flush(): Promise<void>;
}

function createWriter(response: ServerResponse, { isOneChunk, splitBytes }: Directive): Writer {
  let held = "";
  async function write(text: string): Promise<void> {
    if (isOneChunk) {
      held += text;
    } else if (splitBytes !== undefined && splitBytes > 0) {
      await writeSplit(response, Buffer.from(text), splitBytes);
    } else if (!response.write(text)) {
      await drained(response);
    }
  }
  return Object.assign(write, {
    async flush() {
      if (held !== "") response.write(held);
    },
  });
}

/** Each piece reaches the socket before the next is written, so that the network does not join them. */
async function writeSplit(response: ServerResponse, bytes: Buffer, size: number): Promise<void> {
  for (let start = 0; start < bytes.length && !response.destroyed; start += size) {
    await written(response, bytes.subarray(start, start + size));
  }
}

/** Resolves once the socket accepted it, even if the connection ended before: the callback then gets the error. */
async function written(response: ServerResponse, bytes: Buffer): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const done = () => {
    response.off("close", done);
    resolve();
  };
  response.once("close", done);
  response.write(bytes, done);
  await promise;
}
