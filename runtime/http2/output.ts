import type { Socket } from "node:net";
import { HEADER_BYTES, writeFrameHeader } from "./frame.ts";

/** Frames on their way into a socket. What is put in one turn of the event loop leaves in one write. */
export interface Output {
  /** @param payload is read until it has left: it must not change. */
  put(type: number, flags: number, streamId: number, payload: Buffer): void;
  /** Until `release`, frames gather. */
  hold(): void;
  release(): void;
  /** Sends what there is, and ends the socket. */
  end(): void;
}

const FIRST_BYTES = 1024;
/** Copying more than this costs more than another part of a write does. */
export const COPIED_BYTES = 8 * 1024;

export function createOutput(socket: Socket): Output {
  const parts: Buffer[] = [];
  let page = Buffer.alloc(0);
  let from = 0;
  let at = 0;
  let isHeld = false;
  let isDue = false;
  let isEnded = false;

  function put(type: number, flags: number, streamId: number, payload: Buffer): void {
    if (isEnded) return;
    const length = payload.length;
    const isCopied = length <= COPIED_BYTES;
    reserve(HEADER_BYTES + (isCopied ? length : 0));
    writeFrameHeader(page, at, { type, flags, streamId, length });
    at += HEADER_BYTES;
    if (isCopied) {
      page.set(payload, at);
      at += length;
    } else {
      closePart();
      parts.push(payload);
    }
    if (isHeld || isDue) return;
    isDue = true;
    process.nextTick(flush);
  }

  /** What is written already stays where it is: the socket may not have sent it yet. */
  function reserve(bytes: number): void {
    if (page.length - at >= bytes) return;
    const used = at - from;
    const grown = Buffer.allocUnsafe(Math.max(FIRST_BYTES, 2 * (used + bytes)));
    page.copy(grown, 0, from, at);
    page = grown;
    from = 0;
    at = used;
  }

  function closePart(): void {
    if (at > from) parts.push(page.subarray(from, at));
    from = at;
  }

  function flush(): void {
    isDue = false;
    closePart();
    const [first] = parts;
    if (first === undefined) return;
    if (parts.length === 1) socket.write(first);
    else {
      socket.cork();
      for (const part of parts) socket.write(part);
      socket.uncork();
    }
    parts.length = 0;
  }

  return {
    put,
    hold: () => void (isHeld = true),
    release() {
      isHeld = false;
      flush();
    },
    end() {
      if (isEnded) return;
      flush();
      isEnded = true;
      socket.end();
    },
  };
}
