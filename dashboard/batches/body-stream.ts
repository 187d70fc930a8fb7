import type { Readable } from "node:stream";
import { GatewayError } from "../../contract/errors.ts";
import { MONOTONIC } from "../../runtime/clock.ts";
import type { UploadTurn } from "./uploads.ts";

const MAX_UPLOAD_MS = 280_000;

/** Some senders send a byte at a time: each in memory alone, they would need a hundred times as much. */
const BLOCK_BYTES = 64 * 1024;

export interface BodyBounds {
  maxBytes: number;
  /** Of what a refusal speaks: "A file". */
  what: string;
  turn: Omit<UploadTurn, "end">;
}

/**
 * The body of a request, as fast as it is read, in blocks of 64 KiB whatever pieces it comes in.
 * @throws GatewayError `request_too_large` beyond `maxBytes`; `invalid_request` if it takes too long, loses its turn, or breaks off.
 */
export async function* readBody(body: Readable, { maxBytes, what, turn }: BodyBounds): AsyncGenerator<Buffer> {
  const deadlineMs = MONOTONIC.nowMs() + MAX_UPLOAD_MS;
  let bytes = 0;
  let block = Buffer.allocUnsafeSlow(BLOCK_BYTES);
  let filled = 0;
  for await (const piece of piecesOf(body, turn)) {
    bytes += piece.length;
    if (bytes > maxBytes) throw tooLarge(maxBytes, what);
    if (MONOTONIC.nowMs() > deadlineMs)
      throw new GatewayError(
        "invalid_request",
        "The upload took longer than five minutes. Split the requests into several batches.",
        { status: 408 },
      );
    for (let from = 0; from < piece.length;) {
      const copied = piece.copy(block, filled, from);
      from += copied;
      filled += copied;
      if (filled < BLOCK_BYTES) continue;
      yield block;
      block = Buffer.allocUnsafeSlow(BLOCK_BYTES);
      filled = 0;
    }
  }
  if (filled > 0) yield block.subarray(0, filled);
}

/** Pieces as they come, until the turn is lost, which may be while none comes. */
async function* piecesOf(body: Readable, turn: BodyBounds["turn"]): AsyncGenerator<Buffer> {
  const pieces = body.iterator({ destroyOnReturn: false })[Symbol.asyncIterator]();
  let interrupt: ((reason: unknown) => void) | undefined;
  const onAbort = () => interrupt?.(turn.signal.reason);
  turn.signal.addEventListener("abort", onAbort, { once: true });
  try {
    for (;;) {
      turn.signal.throwIfAborted();
      turn.waits();
      const next = Promise.withResolvers<IteratorResult<unknown>>();
      interrupt = next.reject;
      pieces.next().then(next.resolve, (error: unknown) => next.reject(brokenOff(error)));
      const { done, value } = await next.promise;
      if (done === true) return;
      if (!Buffer.isBuffer(value)) throw new Error("The body of a request is a stream of bytes.");
      turn.got(value.length);
      yield value;
    }
  } finally {
    turn.signal.removeEventListener("abort", onAbort);
    // The rest of a body that was refused: its connection also carries other clients' requests, which would wait behind it. It is not
    // waited for, because there may be none.
    const resume = () => void body.resume();
    void Promise.resolve(pieces.return?.()).then(resume, resume);
  }
}

/** Its sender has left: that is no failure of this process. */
function brokenOff(cause: unknown): GatewayError {
  return new GatewayError("invalid_request", "The upload broke off before its end.", { cause });
}

export function tooLarge(maxBytes: number, what: string): GatewayError {
  return new GatewayError(
    "request_too_large",
    `${what} may have at most ${Math.floor(maxBytes / 1024 / 1024)} MiB. Split the requests into several batches.`,
  );
}
