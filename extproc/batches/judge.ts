import { BATCH_BOUNDS } from "../../contract/batches.ts";
import { encodeError, GatewayError } from "../../contract/errors.ts";
import { HEADERS } from "../../contract/headers.ts";
import type { SendableRequest } from "../../ledger/batches/sending.ts";
import { parseNanoUsd } from "../../ledger/money.ts";
import type { Answer } from "./send.ts";

/** What an answer means for its request, and for its batch. */
export type Verdict =
  | { kind: "done"; outcome: "succeeded" | "errored"; status: number; body: string; chargeNanoUsd: bigint }
  /** Refused for now, at no charge: it is sent again. "credit": because there is too little at this moment. */
  | { kind: "refused"; delayMs: number; by: "load" | "credit" }
  /** The model server failed: it is sent again, a few times. */
  | { kind: "failed"; delayMs: number };

const MIN_DELAY_MS = 1_000;
const MAX_DELAY_MS = 60_000;
const FAILURE_DELAY_MS = 2_000;
/** How often a request is sent whose model server fails, or whose answer is lost. */
export const MAX_ATTEMPTS = 3;

/**
 * 401: the key was disabled a moment ago, and its batches are about to end (ledger/batches/ending.ts). 529: a model server is
 * overloaded, for clients of messages; others get a 503.
 */
const LATER: ReadonlySet<number> = new Set([401, 429, 503, 529]);

/** @param isLast it is not sent again if the model server has failed. */
export function judge(request: Pick<SendableRequest, "interface">, { status, headers, body }: Answer, isLast: boolean): Verdict {
  const chargeNanoUsd = chargeOf(headers[HEADERS.cost]);
  if (status === 402) return { kind: "refused", delayMs: delayOf(undefined), by: "credit" };
  if (LATER.has(status)) {
    // A limit of zero says no time: it may never be raised.
    const isLong = headers["x-should-retry"] === "false";
    return { kind: "refused", delayMs: isLong ? MAX_DELAY_MS : delayOf(headers["retry-after"]), by: "load" };
  }
  if ((status === 500 || status === 502 || status === 504) && !isLast) return { kind: "failed", delayMs: FAILURE_DELAY_MS };
  const text = body?.toString("utf8");
  if (text === undefined || !isObject(text)) {
    const why =
      text === undefined
        ? `The answer is longer than ${BATCH_BOUNDS.answerMebibytes} MiB, the maximum for batches. Send this request outside a batch.`
        : "The answer is not JSON, so it cannot be stored as a result.";
    return failureOf(request, new GatewayError("upstream_error", why), chargeNanoUsd);
  }
  const outcome = status >= 200 && status < 300 ? "succeeded" : "errored";
  return { kind: "done", outcome, status, body: text, chargeNanoUsd };
}

/** A request that gets no other answer than this error. */
export function failureOf(
  { interface: client }: Pick<SendableRequest, "interface">,
  error: GatewayError,
  chargeNanoUsd = 0n,
): Verdict & { kind: "done" } {
  const body = JSON.stringify(encodeError(client, error, ""));
  return { kind: "done", outcome: "errored", status: error.status, body, chargeNanoUsd };
}

function isObject(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null;
  } catch {
    return false;
  }
}

function delayOf(retryAfter: string | undefined): number {
  const seconds = Number(retryAfter ?? "2");
  const delayMs = Number.isFinite(seconds) ? seconds * 1000 : MIN_DELAY_MS;
  return Math.min(MAX_DELAY_MS, Math.max(MIN_DELAY_MS, delayMs));
}

function chargeOf(cost: string | string[] | undefined): bigint {
  return typeof cost === "string" ? parseNanoUsd(cost) : 0n;
}
