import { fromBinary } from "@bufbuild/protobuf";
import { StatusSchema } from "../../runtime/gen/google/rpc/status_pb.js";
import { ExportTraceServiceResponseSchema } from "../../runtime/gen/otlp/traces_pb.js";
import type { TargetNetworks } from "../outbound/networks.ts";
import type { OutboundAnswer } from "../outbound/post.ts";

/** What a server made of a batch, by OTLP's rules. */
export type BatchResult =
  /** Spans that it refused are not sent again. */
  | { kind: "accepted"; rejected: number; remark: string | null }
  /** It may take the same batch later. */
  | { kind: "later"; problem: string; retryAfterMs: number | undefined }
  /** It does not take what is in the batch. */
  | { kind: "unfit"; problem: string }
  /** It takes nothing with this address and these headers. */
  | { kind: "refused"; problem: string };

const MIN_RETRY_AFTER_MS = 1_000;
const MAX_RETRY_AFTER_MS = 3_600_000;

/**
 * @param networks where targets may be: in the operator's own networks, only what a server of OTLP says is repeated, so that no
 * customer reads the answers of other servers.
 * @param secrets must not be repeated.
 */
export function readAnswer(
  answer: OutboundAnswer,
  { networks, secrets, nowMs }: { networks: TargetNetworks; secrets: readonly string[]; nowMs: number },
): BatchResult {
  const { status } = answer;
  const printed = (text: string | undefined) => (text === undefined ? null : printable(withoutSecrets(text, secrets)));
  if (status >= 200 && status < 300) {
    // As many sites answer everything.
    if (/^text\/html\b/i.test(answer.headers["content-type"] ?? ""))
      return { kind: "refused", problem: "The server answered with a web page. Check the address." };
    const partial = partialSuccessOf(answer);
    return { kind: "accepted", rejected: partial.rejected, remark: printed(partial.message || undefined) };
  }
  const message = printed(statusMessageOf(answer) ?? (networks === "public" ? plainTextOf(answer) : undefined));
  const problem = `The server answered with status ${status}${message === null || message === "" ? "." : `: ${message}`}`;
  if (status === 400 || status === 413) return { kind: "unfit", problem };
  if (status === 408 || status === 429 || status >= 500)
    return { kind: "later", problem, retryAfterMs: retryAfterMsOf(answer, nowMs) };
  return { kind: "refused", problem };
}

/** The header is in seconds, or a date. */
function retryAfterMsOf({ headers }: OutboundAnswer, nowMs: number): number | undefined {
  const text = headers["retry-after"];
  if (text === undefined) return undefined;
  const ms = /^\d{1,9}$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - nowMs;
  return Number.isNaN(ms) ? undefined : Math.min(MAX_RETRY_AFTER_MS, Math.max(MIN_RETRY_AFTER_MS, ms));
}

function partialSuccessOf(answer: OutboundAnswer): { rejected: number; message: string } {
  const decoded = isProtobuf(answer) ? tryDecode(() => fromBinary(ExportTraceServiceResponseSchema, answer.body)) : undefined;
  const { rejectedSpans = 0n, errorMessage = "" } = decoded?.partialSuccess ?? {};
  return { rejected: rejectedSpans > 0n ? Number(rejectedSpans) : 0, message: errorMessage };
}

function statusMessageOf(answer: OutboundAnswer): string | undefined {
  return isProtobuf(answer) ? tryDecode(() => fromBinary(StatusSchema, answer.body))?.message : undefined;
}

/** Never decompressed: a few bytes can become gigabytes. */
function isProtobuf({ headers }: OutboundAnswer): boolean {
  return isPlain(headers["content-encoding"]) && /^application\/x-protobuf\b/i.test(headers["content-type"] ?? "");
}

function plainTextOf({ headers, body }: OutboundAnswer): string | undefined {
  const isText =
    isPlain(headers["content-encoding"]) && /^(text\/plain|application\/json)\b/i.test(headers["content-type"] ?? "");
  return isText ? body.toString("utf8") : undefined;
}

function isPlain(encoding: string | undefined): boolean {
  return encoding === undefined || encoding === "identity";
}

function tryDecode<Message>(decode: () => Message): Message | undefined {
  try {
    return decode();
  } catch {
    return undefined;
  }
}

const MAX_MESSAGE = 200;

function printable(text: string): string {
  const oneLine = text.replaceAll(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\s]+/gu, " ").trim();
  return oneLine.length > MAX_MESSAGE ? `${oneLine.slice(0, MAX_MESSAGE)}…` : oneLine;
}

const MIN_SECRET = 6;

/** A server may repeat what it was sent. */
function withoutSecrets(text: string, secrets: readonly string[]): string {
  const words = secrets.flatMap((secret) => [secret, ...secret.split(" ")]).filter(({ length }) => length >= MIN_SECRET);
  return words.reduce((shown, word) => shown.replaceAll(word, "[removed]"), text);
}
