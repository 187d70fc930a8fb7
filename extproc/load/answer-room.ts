import { GatewayError } from "../../contract/errors.ts";

/**
 * What Envoy holds of a complete answer before its end has come, counted with the bodies of its account. A server that begins
 * answers and never ends them fills no more than its callers' share, and none of it for long (docs/decisions/0031).
 */
export interface AnswerRoom {
  /** So much has come, or will. @throws GatewayError `rate_limited` or `overloaded` if there is no room. */
  grow(bytes: number): void;
  /** All of it has come. Idempotent. */
  over(): void;
}

export interface AnswerRoomDeps {
  /** @throws GatewayError where there is none. */
  reserve(bytes: number): void;
  /** A large answer has not ended in time. Called once. */
  onLate(error: GatewayError): void;
}

/** So little is not refused: it has been generated, and someone pays for that. */
const SMALL_BYTES = 64 * 1024;
/** An answer that has so much must end soon. */
const LARGE_BYTES = 1024 * 1024;
/** 31 MiB take 4 Mbit/s. */
const ENDS_WITHIN_MS = 60_000;

export function createAnswerRoom({ reserve, onLate }: AnswerRoomDeps): AnswerRoom {
  let timer: NodeJS.Timeout | undefined;
  return {
    grow(bytes) {
      if (bytes >= SMALL_BYTES) reserve(bytes);
      if (bytes >= LARGE_BYTES) timer ??= setTimeout(() => onLate(late()), ENDS_WITHIN_MS);
    },
    over: () => clearTimeout(timer),
  };
}

function late(): GatewayError {
  const size = `${LARGE_BYTES / 1024 / 1024} MiB`;
  const message = `The model server did not finish its answer within ${ENDS_WITHIN_MS / 1000} seconds after the first ${size}. Request less at a time, or a stream.`;
  return new GatewayError("upstream_timeout", message);
}
