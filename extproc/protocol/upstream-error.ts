import { ERRORS, GatewayError, type ErrorCode } from "../../contract/errors.ts";
import { dialectOf, type Dialect, type Interface, type Protocol } from "../../contract/protocol.ts";
import { statusMeant } from "./aws-error.ts";
import { contextLengthMessage } from "./upstream-error-context.ts";
import { readErrorDetails, type ErrorDetails } from "./upstream-error-details.ts";
import { keptDetails, keptKind } from "./upstream-error-kind.ts";
import { callerText, logText } from "./upstream-error-text.ts";

export interface UpstreamFailure {
  /** HTTP status, 300 and above. */
  status: number;
  /** Response headers by lower-case name. */
  headers: ReadonlyMap<string, string>;
  body: Buffer;
  /** When the client may try again, by `retryHeaders`. */
  retry?: Readonly<Record<string, string>>;
  /** The protocol that the upstream speaks; proxies in front of it answer in their own formats. */
  upstream: Protocol;
  /** The caller's protocol: messages has a 529 and no 422. */
  client?: Interface;
  /** Model names: the upstream's own stays internal, and the caller reads the name that it requested (S17). */
  model?: ModelNames;
  /** The provider whose key the account brought; absent if the credential is the gateway's. */
  provider?: string | undefined;
}

export interface ModelNames {
  readonly upstream: string;
  readonly client: string;
  /** As in UpstreamFailure. */
  readonly provider?: string | undefined;
}

/** The reader of an error that an answer contains. */
export interface ErrorReader {
  client: Interface;
  modelNames: ModelNames;
  /** The server's protocol, if its own names for errors may stay; absent where an answer is translated. */
  upstream?: Protocol;
}

/**
 * An upstream's failure as the caller's error (S22). Its 4xx about the request keep status and text, and for callers of the same
 * protocol their type, code and details; errors about the gateway's own credential or configuration become a neutral 502, those
 * about the account's own key name it; 429 and
 * 5xx keep their class and `retry-after`. The upstream's class names, hosts and keys stay internal.
 */
export function readUpstreamError({
  status,
  headers,
  body,
  retry = {},
  upstream,
  client,
  model,
  provider,
}: UpstreamFailure): GatewayError {
  const details = readErrorDetails(body.toString("utf8"));
  return classify({ status: statusMeant(status, headers), details, retry, upstream, client, model, provider });
}

/**
 * An error inside a body or stream that began with 200: `{"error": …}`, `{"type": "error", …}`. Its status is the one that it
 * names, or the one that its type implies.
 * @param payload parsed, or the text of an `event: error`.
 */
export function readUpstreamErrorPayload(
  payload: unknown,
  { client, modelNames: model, upstream }: Partial<ErrorReader> = {},
): GatewayError {
  const details = readErrorDetails(payload);
  // Some types say nothing about the status: "error" in Responses, "tokens" of a limit.
  const status = details.status ?? statusOfType(details.type) ?? statusOfType(details.code) ?? 502;
  return classify({ status, details, retry: {}, upstream, client, model, provider: model?.provider });
}

/** @param optional what the client asked for, as the rest of a sentence; not every server of its interface has an endpoint for it. */
export function missingEndpoint(status: number, optional: string): GatewayError {
  const cause = new Error(`upstream answered ${status}`);
  return new GatewayError("not_found", `The model server does not ${optional} with this model.`, { cause });
}

const MISSING: ReadonlySet<number> = new Set([404, 405, 415, 501]);

/** Whether a server with this status has no such endpoint. */
export function isMissingEndpoint(status: number): boolean {
  return MISSING.has(status);
}

interface Failure {
  status: number;
  details: ErrorDetails;
  retry: Readonly<Record<string, string>>;
  /** Undefined inside an answer, which a translation reads for a client of another protocol. */
  upstream: Protocol | undefined;
  client: Interface | undefined;
  model: ModelNames | undefined;
  provider: string | undefined;
}

function classify({ status, details, retry, upstream, client, model, provider }: Failure): GatewayError {
  const cause = new Error(`upstream answered ${status}: ${logText(details.message)}`);
  const fail = (code: ErrorCode, message: string, forStatus?: number) =>
    new GatewayError(code, message, { cause, headers: retry, status: forStatus });

  if (isAccountTrouble(status, details)) {
    if (CONTENT_REFUSED.test(details.message.slice(0, 2_000))) return contentRefused(cause);
    if (provider !== undefined) return new GatewayError("provider_key_refused", keyRefused(provider, status), { cause });
    return fail("upstream_error", "The model server refused the gateway. Your key and balance are not the cause.");
  }
  if (status === 429) return fail("rate_limited", "The model server is not accepting requests right now. Try again later.");
  if (status === 408 || status === 504 || status === 524)
    return fail("upstream_timeout", "The model server took too long to answer. Try again.");
  if (status === 503 || status === 529) {
    return fail("overloaded", "The model server is overloaded. Try again later.", OVERLOADED[dialectOf(client ?? "chat")]);
  }
  if (status === 500) return fail("upstream_error", "The model server failed. Try again.", 500);

  const tooLong = status >= 400 && status < 500 ? contextLengthMessage(details) : null;
  if (tooLong !== null) return fail("context_too_long", tooLong);
  if (status === 413) return fail("request_too_large", "The request is larger than the model server accepts.");
  if (isAboutRequest(status)) {
    return new GatewayError("invalid_request", callerText(renameModel(details.message, model)), {
      cause,
      // Of these, only a conflict may be over later.
      headers: status === 409 ? retry : {},
      status: status === 422 ? UNPROCESSABLE[dialectOf(client ?? "chat")] : status,
      ...(details.field === null ? {} : { field: details.field }),
      ...(upstream === undefined || client === undefined
        ? {}
        : { kind: keptKind(details, upstream, client), details: keptDetails(details, upstream, client) }),
    });
  }
  if (status === 404 && NO_SUCH_OBJECT.test(details.message))
    return new GatewayError("not_found", callerText(renameModel(details.message, model)), { cause });
  return fail("upstream_error", "The model server sent no usable answer. Try again.");
}

/**
 * What the request refers to by an id, such as `file_…`, `rs_…` or `cntr_…`. Any other 404 is about the path or the model, which
 * the gateway chose.
 */
const NO_SUCH_OBJECT =
  /^(?=.*\b(?:not found|no such|does not exist)\b)(?=.*\b(?:file|item|container|conversation)\b).*\b(?:file|item|rs|fc|msg|ws|cntr|container|conv)[_-]\w{8}/i;

/** Messages has a 529, and no 422. */
const OVERLOADED = { chat: 503, messages: 529 } as const satisfies Record<Dialect, number>;
const UNPROCESSABLE = { chat: 422, messages: 400 } as const satisfies Record<Dialect, number>;

/** The provider's own words may repeat the key. */
function keyRefused(provider: string, status: number): string {
  return (
    `The provider ${provider} refused your account's own key (status ${status}): it is invalid, lacks a permission, or has no credit or quota left there. ` +
    "Your key for this gateway is not the cause. Fix the provider key at the provider, or replace or delete it in the dashboard, under Provider keys."
  );
}

const MISCONFIGURED =
  /credit balance is too low|in(?:valid|correct) api key|provided model identifier is invalid|on-demand throughput isn.t supported|publisher model/i;

/** The gateway's own credential, credit or configuration: not caused by the caller. */
function isAccountTrouble(status: number, { code, type, message }: ErrorDetails): boolean {
  if (status === 401 || status === 402 || status === 403) return true;
  if (code === "insufficient_quota" || type === "insufficient_quota" || type === "billing_error") return true;
  return status === 400 && MISCONFIGURED.test(message);
}

/** xAI and OpenRouter refuse a text with 403, as if the credential lacked a permission. */
const CONTENT_REFUSED = /\bviolates (?:our |the )?usage guidelines\b|\bSAFETY_CHECK_TYPE_|\binput was flagged\b/i;

/** Their own texts name the provider behind the server, and the team and the key of the gateway's account. */
function contentRefused(cause: Error): GatewayError {
  const message = "The model server refused the content of this request, which its usage policy does not allow.";
  return new GatewayError("content_refused", message, { cause, details: { code: ERRORS.content_refused.chat.code } });
}

/** 404, 405 and similar statuses mostly concern the path and model name, which the gateway chose. */
export function isAboutRequest(status: number): boolean {
  return status === 400 || status === 409 || status === 422;
}

/** A shorter name would match inside other words. */
const MIN_HIDDEN_LENGTH = 4;

function renameModel(message: string, model: ModelNames | undefined): string {
  return model === undefined || model.upstream.length < MIN_HIDDEN_LENGTH
    ? message
    : message.replaceAll(model.upstream, () => model.client);
}

/** The status implied by an error that has none; null if its type implies none either. */
function statusOfType(type: string): number | null {
  if (/overload|insufficient_system_resource|unavailable/i.test(type)) return 503;
  if (/rate.?limit|too.?many/i.test(type)) return 429;
  if (/timeout/i.test(type)) return 504;
  if (/authentication|permission|billing|quota|api.?key/i.test(type)) return 401;
  if (/too.?large/i.test(type)) return 413;
  if (/invalid.?(?:request|prompt|image)|bad.?request|validation|context|policy|content.?filter|inspection/i.test(type))
    return 400;
  return null;
}
