import type { Readable } from "node:stream";
import { GatewayError } from "../../contract/errors.ts";

/** A sender that is slower has its own upload to lose, not a turn that others wait for. */
const MAX_UPLOAD_MS = 280_000;

/** Some senders send a byte at a time: each in memory alone, they would need a hundred times as much. */
const BLOCK_BYTES = 64 * 1024;

/**
 * The body of a request, as fast as it is read, in blocks of 64 KiB whatever pieces it comes in.
 * @throws GatewayError `request_too_large` beyond `maxBytes`; `invalid_request` if it takes too long.
 */
export async function* readBody(body: Readable, { maxBytes, what }: { maxBytes: number; what: string }): AsyncGenerator<Buffer> {
  const deadline = Date.now() + MAX_UPLOAD_MS;
  let bytes = 0;
  let block = Buffer.allocUnsafeSlow(BLOCK_BYTES);
  let filled = 0;
  try {
    for await (const piece of body.iterator({ destroyOnReturn: false })) {
      if (!Buffer.isBuffer(piece)) throw new Error("The body of a request is a stream of bytes.");
      bytes += piece.length;
      if (bytes > maxBytes) throw tooLarge(maxBytes, what);
      if (Date.now() > deadline)
        throw new GatewayError("invalid_request", "The upload took longer than five minutes.", { status: 408 });
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
  } finally {
    // The rest of a body that was refused: its connection also carries other clients' requests, which would wait behind it.
    body.resume();
  }
}

export function tooLarge(maxBytes: number, what: string): GatewayError {
  return new GatewayError(
    "request_too_large",
    `${what} may have at most ${Math.floor(maxBytes / 1024 / 1024)} MiB. Split the requests into several batches.`,
  );
}
