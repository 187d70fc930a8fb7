import { GatewayError } from "../../contract/errors.ts";
import { MAX_REQUEST_BYTES } from "../../contract/headers.ts";

/**
 * How many bytes of bodies Envoy and this process may hold at once, reserved by their `content-length` before they arrive
 * (docs/decisions/0031). Further bodies are refused at their headers, so that they are never held.
 */
export interface ByteAdmission {
  /** Currently reserved. */
  readonly bytes: number;
  /**
   * Reserves memory for a body until its request ends.
   * @param contentLength null if the client does not state it: the largest body, until it has arrived.
   * @throws GatewayError `request_too_large`, `overloaded` if the process is full, `rate_limited` if the account has its share.
   */
  enter(accountId: string, contentLength: number | null): HeldBytes;
}

export interface HeldBytes {
  /** The actual size, including data added since. Never refused: it is already there. */
  resize(bytes: number): void;
  /**
   * Reserves memory before the body grows to this size: stored items replace their ids.
   * @throws GatewayError as `enter` does; the reservation stays unchanged.
   */
  reserve(bytes: number): void;
  /**
   * Releases the memory, except for a large answer that its client may still be reading: Envoy buffers that, and cannot report
   * for how long. It counts for the time that reading it takes at 8 Mbit/s. Idempotent.
   * @param answerBytes of a complete answer in Envoy; 0 if there is none.
   */
  release(answerBytes?: number): void;
}

/** Conversations, which have small bodies, still have room when large ones have used theirs. */
const LARGE_FROM_BYTES = 1024 * 1024;
const LARGE_SHARE = 3 / 4;
/** 8 Mbit/s. */
const READ_BYTES_PER_MS = (1024 * 1024) / 1000;
/** Once half of all bytes are in use, an account may have no more than a quarter: its uploads leave room for the others'. */
const BUSY_FROM = 1 / 2;
const ACCOUNT_SHARE = 1 / 4;

const COME_AGAIN = { headers: { "retry-after": "2" } };
const MEBIBYTE = 1024 * 1024;

export function createByteAdmission({ maxBytes }: { maxBytes: number }): ByteAdmission {
  const byAccount = new Map<string, number>();
  let total = 0;

  function add(accountId: string, bytes: number): void {
    total += bytes;
    const own = (byAccount.get(accountId) ?? 0) + bytes;
    if (own === 0) byAccount.delete(accountId);
    else byAccount.set(accountId, own);
  }

  /** @param held the body's existing reservation. */
  function check(accountId: string, bytes: number, held: number): void {
    const most = bytes >= LARGE_FROM_BYTES ? maxBytes * LARGE_SHARE : maxBytes;
    const others = total - held;
    // Alone, any allowed body has room.
    if (others > 0 && others + bytes > most)
      throw new GatewayError("overloaded", "The gateway's memory for request bodies is full. Try again in a moment.", COME_AGAIN);
    const own = (byAccount.get(accountId) ?? 0) - held;
    if (own > 0 && others + bytes > maxBytes * BUSY_FROM && own + bytes > maxBytes * ACCOUNT_SHARE)
      throw new GatewayError(
        "rate_limited",
        `The bodies of your account's requests in flight and latest answers use ${Math.ceil(own / MEBIBYTE)} MiB, its share of the gateway's memory. Wait for some of them to finish.`,
        COME_AGAIN,
      );
  }

  return {
    get bytes() {
      return total;
    },
    enter(accountId, contentLength) {
      if (contentLength !== null && contentLength > MAX_REQUEST_BYTES)
        throw new GatewayError("request_too_large", `The request body is larger than ${MAX_REQUEST_BYTES / MEBIBYTE} MiB.`);
      let held = contentLength ?? MAX_REQUEST_BYTES;
      check(accountId, held, 0);
      add(accountId, held);
      let isHere = true;
      const resize = (bytes: number) => {
        if (!isHere) return;
        add(accountId, bytes - held);
        held = bytes;
      };
      return {
        resize,
        reserve(bytes) {
          if (!isHere || bytes <= held) return;
          check(accountId, bytes, held);
          resize(bytes);
        },
        release(answerBytes = 0) {
          if (!isHere) return;
          const unread = answerBytes < LARGE_FROM_BYTES ? 0 : answerBytes;
          resize(unread);
          isHere = false;
          if (unread > 0) setTimeout(() => add(accountId, -unread), unread / READ_BYTES_PER_MS).unref();
        },
      };
    },
  };
}
