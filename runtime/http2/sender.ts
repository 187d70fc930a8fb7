import { createFleetingMap } from "../fleeting-map.ts";
import { FLAG, FRAME, MOST_FRAME_BYTES } from "./frame.ts";
import type { Output } from "./output.ts";

/** Sends streams' headers and data in order, and no more data than the other side has room for. */
export interface Sender {
  open(streamId: number): Outlet;
  /** The other side takes so many bytes more, of all streams together. */
  widen(bytes: number): void;
  /** What it takes of each stream before it says more. */
  setFirstWindow(bytes: number): void;
}

/** The way out of one stream. */
export interface Outlet {
  data(bytes: Buffer): void;
  /** @param block in HPACK, without use of a table. @param isEnd nothing comes behind. */
  headers(block: Buffer, isEnd: boolean): void;
  widen(bytes: number): void;
  /** Nothing more is sent, nor what waits. */
  close(): void;
}

/** A frame that waits for room, or behind one that does. */
type Waiting = { kind: "data"; bytes: Buffer } | { kind: "headers"; block: Buffer; isEnd: boolean };

const FIRST_WINDOW_BYTES = 65_535;
const MOST_WINDOW_BYTES = 2 ** 31 - 1;

interface Parts {
  output: Output;
  /** All of a stream has been sent. */
  onEnd(streamId: number): void;
}

export function createSender({ output, onEnd }: Parts): Sender {
  const open = createFleetingMap<number, { shift(bytes: number): void }>();
  const blocked = new Set<() => void>();
  let window = FIRST_WINDOW_BYTES;
  let firstWindow = FIRST_WINDOW_BYTES;

  function openOutlet(streamId: number): Outlet {
    const waiting: Waiting[] = [];
    const state = { shift: (bytes: number) => (own += bytes) };
    // May be negative, after the other side has changed its mind.
    let own = firstWindow;
    open.set(streamId, state);

    function sendData(bytes: Buffer): void {
      window -= bytes.length;
      own -= bytes.length;
      for (let at = 0; at < bytes.length; at += MOST_FRAME_BYTES)
        output.put(FRAME.data, 0, streamId, bytes.length <= MOST_FRAME_BYTES ? bytes : bytes.subarray(at, at + MOST_FRAME_BYTES));
    }

    function sendHeaders(block: Buffer, isEnd: boolean): void {
      output.put(FRAME.headers, FLAG.endHeaders | (isEnd ? FLAG.endStream : 0), streamId, block);
      if (isEnd) onEnd(streamId);
    }

    function wait(frame: Waiting): void {
      waiting.push(frame);
      blocked.add(pump);
    }

    /** As far as there is room. */
    function pump(): void {
      for (let next = waiting[0]; next !== undefined; next = waiting[0]) {
        if (next.kind === "data") {
          const room = Math.min(window, own);
          if (room <= 0) return;
          sendData(next.bytes.subarray(0, room));
          if (room < next.bytes.length) {
            waiting[0] = { kind: "data", bytes: next.bytes.subarray(room) };
            return;
          }
        } else sendHeaders(next.block, next.isEnd);
        waiting.shift();
      }
      blocked.delete(pump);
    }

    return {
      data(bytes) {
        if (waiting.length === 0 && bytes.length <= window && bytes.length <= own) sendData(bytes);
        else {
          wait({ kind: "data", bytes });
          pump();
        }
      },
      headers(block, isEnd) {
        if (waiting.length === 0) sendHeaders(block, isEnd);
        else wait({ kind: "headers", block, isEnd });
      },
      widen(bytes) {
        own += bytes;
        if (own > MOST_WINDOW_BYTES) throw new Error("a stream's window is too large");
        pump();
      },
      close() {
        waiting.length = 0;
        blocked.delete(pump);
        open.delete(streamId);
      },
    };
  }

  return {
    open: openOutlet,
    widen(bytes) {
      window += bytes;
      if (window > MOST_WINDOW_BYTES) throw new Error("a connection's window is too large");
      for (const pump of blocked) pump();
    },
    setFirstWindow(bytes) {
      for (const each of open.values()) each.shift(bytes - firstWindow);
      firstWindow = bytes;
      for (const pump of blocked) pump();
    },
  };
}
