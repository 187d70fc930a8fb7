import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { DestinationKind, TraceDestination, TraceHeader } from "../../ledger/traces/destinations.ts";
import type { TargetNetworks } from "../outbound/networks.ts";
import { postOutbound } from "../outbound/post.ts";
import { readAnswer, type BatchResult } from "./answer.ts";
import { LANGFUSE_HEADERS, LANGFUSE_PATH } from "./langfuse.ts";

/** Shorter than a destination is claimed for. */
const TIMEOUT_MS = 30_000;
/** For a person who waits. */
const TEST_TIMEOUT_MS = 8_000;
const MAX_ANSWER_BYTES = 16_384;
const compress = promisify(gzip);

export interface TraceTarget {
  kind: DestinationKind;
  url: string;
  headers: readonly TraceHeader[];
}

/** Where a destination's batches are posted to. */
export function endpointOf({ kind, url }: Pick<TraceDestination, "kind" | "url">): string {
  if (kind !== "langfuse") return url;
  return (url.endsWith("/") ? url.slice(0, -1) : url) + LANGFUSE_PATH;
}

/**
 * Posts a batch by OTLP over HTTP, compressed.
 * @param body as `encodeSpans` returned it.
 * @returns what became of it: "later" too if there is no answer.
 */
export async function sendSpans(
  target: TraceTarget,
  body: Uint8Array,
  { networks, isTest = false, signal }: { networks: TargetNetworks; isTest?: boolean; signal?: AbortSignal | undefined },
): Promise<BatchResult> {
  const headers = {
    ...Object.fromEntries(target.headers),
    ...(target.kind === "langfuse" ? LANGFUSE_HEADERS : {}),
    "content-type": "application/x-protobuf",
    "content-encoding": "gzip",
    "user-agent": "Model-Gateway-Traces/1",
  };
  const timeoutMs = isTest ? TEST_TIMEOUT_MS : TIMEOUT_MS;
  const bounds = { timeoutMs, maxAnswerBytes: MAX_ANSWER_BYTES, signal };
  try {
    const answer = await postOutbound({ url: endpointOf(target), headers, body: await compress(body), ...bounds }, networks);
    return readAnswer(answer, { networks, secrets: target.headers.map(([, value]) => value), nowMs: Date.now() });
  } catch (error) {
    return { kind: "later", problem: error instanceof Error ? error.message : String(error), retryAfterMs: undefined };
  }
}
