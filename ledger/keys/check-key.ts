import { GatewayError } from "../../contract/errors.ts";
import type { KeyAccess } from "../../contract/key-access.ts";
import { findCredential } from "./credential.ts";
import { explainKey } from "./key-mistake.ts";
import { isSecretOf, parseApiKey, type Pepper, type StoredSecret } from "./keys.ts";

/** A key as a request sent it. */
export interface SentKey {
  publicId: string;
  secret: string;
}

type Headers = ReadonlyMap<string, string>;

/**
 * The key in a request's headers.
 * @param keysUrl the page for creating keys.
 * @throws GatewayError `invalid_api_key` without a key, or with something else.
 */
export function readSentKey(headers: Headers, keysUrl: string): SentKey {
  return parseSentKey(findCredential(headers, keysUrl), keysUrl);
}

/** @throws GatewayError `invalid_api_key` for anything but a key. */
export function parseSentKey(credential: string, keysUrl: string): SentKey {
  const parsed = parseApiKey(credential);
  if (parsed.kind === "key") return parsed;
  const { sentence, needsKey } = explainKey(credential);
  throw incorrect(`. ${sentence}${needsKey ? ` ${remedyAt(keysUrl)}` : ""}`);
}

/** Deleted keys are not kept in memory, so they cannot be distinguished from keys that never existed. */
export function notValid(keysUrl: string): GatewayError {
  return incorrect(`: it was deleted, or it is mistyped. ${remedyAt(keysUrl)}`);
}

/** Starts as OpenAI's message does: LiteLLM, and what is built on it, takes a 401 for a bad request without these words. */
function incorrect(rest: string): GatewayError {
  return new GatewayError("invalid_api_key", `Incorrect API key provided${rest}`);
}

/** The stored data that decide whether a key may be used. */
export interface KeyInForce extends StoredSecret, KeyAccess {
  isDisabled: boolean;
  expiresAt: Date | null;
}

/**
 * Whether this is the key's secret, sent from where the key may be used. The secret is hashed and compared in constant time;
 * nothing of it appears in an error.
 * @param isFromAllowed whether the request's address is one of the key's; asked only if the key is bound to addresses.
 * @throws GatewayError `invalid_api_key`, or `permission_denied` if the key is bound to other addresses or origins.
 */
export function checkSecret(
  key: KeyInForce,
  {
    secret,
    pepper,
    nowMs,
    headers,
    keysUrl,
    isFromAllowed,
  }: { secret: string; pepper: Pepper; nowMs: number; headers: Headers; keysUrl: string; isFromAllowed: () => boolean },
): void {
  if (!isSecretOf(key, { secret, pepper, nowMs })) throw notValid(keysUrl);
  // Before its state: elsewhere, nothing more is said about the key.
  if (key.allowedAddresses !== null && !isFromAllowed())
    throw new GatewayError(
      "permission_denied",
      `This API key may be used only from certain IP addresses, and this request came from another one. Send it from an allowed address, or allow this one in the key's settings at ${keysUrl}.`,
    );
  if (key.allowedOrigins !== null && !key.allowedOrigins.includes(headers.get("origin") ?? ""))
    throw new GatewayError(
      "permission_denied",
      `This API key may be used only by web pages of certain origins, and this request came from elsewhere. Allow the page's origin in the key's settings at ${keysUrl}; for a program outside a browser, use a key without origins.`,
    );
}

/** @throws GatewayError `invalid_api_key` if the key is disabled or expired. */
export function checkKeyState(
  key: Pick<KeyInForce, "isDisabled" | "expiresAt">,
  { nowMs, keysUrl }: { nowMs: number; keysUrl: string },
): void {
  if (key.isDisabled) throw incorrect(": it is disabled. Enable it in the dashboard or use another.");
  if (key.expiresAt !== null && key.expiresAt.getTime() <= nowMs)
    throw incorrect(`: it expired on ${key.expiresAt.toISOString()}. ${remedyAt(keysUrl)}`);
}

/** @throws GatewayError `permission_denied` if the account is suspended or closed. */
export function checkAccountState({ isSuspended }: { isSuspended: boolean }): void {
  if (isSuspended)
    throw new GatewayError("permission_denied", "This account is suspended. Contact the operator of this service.");
}

/** A newer version of the gateway wrote its row, and serves it: unreadable limits must not count as no limits. */
export function unreadable(what: string): GatewayError {
  return new GatewayError("billing_unavailable", `The ${what} cannot be read right now. Try again shortly.`, {
    headers: { "retry-after": "5" },
  });
}

function remedyAt(keysUrl: string): string {
  return `Create a new key at ${keysUrl} and keep the full value.`;
}
