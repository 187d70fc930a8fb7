import { GatewayError } from "../../contract/errors.ts";
import { isSecretOf, parseApiKey, type Pepper } from "../../ledger/keys/keys.ts";
import type { World, WorldAccount, WorldKey } from "../world/world.ts";
import type { AddressCheck } from "./address-check.ts";
import { cannotCheck, type CatchUp } from "./catch-up.ts";
import { findCredential } from "./credential.ts";
import { explainKey } from "./key-mistake.ts";

/** The payer of a request. */
export interface Caller {
  key: WorldKey;
  account: WorldAccount;
}

export interface AuthenticateInput {
  headers: ReadonlyMap<string, string>;
  world: World;
  catchUp: CatchUp;
  addresses: AddressCheck;
  pepper: Pepper;
  nowMs: number;
  /** The page for creating keys. */
  keysUrl: string;
}

/** Deleted keys are not kept in memory, so they cannot be distinguished from keys that never existed. */
const NOT_VALID = "The API key is not valid: it was deleted, or it is mistyped.";

/**
 * The caller behind the credential (S18). The secret is hashed and compared in constant time; nothing of it appears in an error.
 * A key is refused only by what the database said after the request came: it may have been made, rotated or enabled a moment
 * ago (docs/decisions/0036).
 * @returns the caller at once if the key is accepted by what is in memory.
 * @throws GatewayError `invalid_api_key`; `permission_denied` if the key is bound to other addresses or origins;
 * `billing_unavailable` if the gateway cannot know the key now.
 */
export function authenticate(input: AuthenticateInput): Caller | Promise<Caller> {
  const { headers, world, catchUp, nowMs, keysUrl } = input;
  const key = readKey(headers, keysUrl);
  try {
    return findCaller(key, input);
  } catch (refusal) {
    // While the database is down, the known state applies.
    if (!(refusal instanceof GatewayError) || !world.isCurrent(nowMs)) throw refusal;
    return catchUp.wait().then(() => findCaller(key, input));
  }
}

interface SentKey {
  publicId: string;
  secret: string;
}

function readKey(headers: ReadonlyMap<string, string>, keysUrl: string): SentKey {
  const credential = findCredential(headers, keysUrl);
  const parsed = parseApiKey(credential);
  if (parsed.kind === "key") return parsed;
  const { sentence, needsKey } = explainKey(credential);
  throw new GatewayError("invalid_api_key", needsKey ? `${sentence} ${remedyAt(keysUrl)}` : sentence);
}

function remedyAt(keysUrl: string): string {
  return `Create a new key at ${keysUrl} and keep the full value.`;
}

function findCaller(sent: SentKey, { headers, world, addresses, pepper, nowMs, keysUrl }: AuthenticateInput): Caller {
  const remedy = remedyAt(keysUrl);
  const key = world.findKey(sent.publicId);
  if (key === undefined) {
    // A new key may not have arrived while the database is down: that is not the caller's fault.
    if (!world.isCurrent(nowMs)) throw cannotCheck();
    throw new GatewayError("invalid_api_key", `${NOT_VALID} ${remedy}`);
  }
  if (key.isUnreadable) throw unreadable("API key");
  if (!isSecretOf(key, { secret: sent.secret, pepper, nowMs }))
    throw new GatewayError("invalid_api_key", `${NOT_VALID} ${remedy}`);
  // Before its state: elsewhere, nothing more is said about the key.
  if (key.allowedAddresses !== null && !addresses.allows(key, headers))
    throw new GatewayError(
      "permission_denied",
      `This API key may be used only from certain addresses, and this request came from another one. Send it from one of them, or allow this one in the key's settings at ${keysUrl}.`,
    );
  if (key.allowedOrigins !== null && !key.allowedOrigins.includes(headers.get("origin") ?? ""))
    throw new GatewayError(
      "permission_denied",
      `This API key may be used only by web pages of certain origins, and this request came from elsewhere. Allow the page's origin in the key's settings at ${keysUrl}; for a program that is no web page, use a key without origins.`,
    );
  if (key.isDisabled)
    throw new GatewayError("invalid_api_key", "The API key is disabled. Enable it in the dashboard or use another.");
  if (key.expiresAt !== null && key.expiresAt.getTime() <= nowMs)
    throw new GatewayError("invalid_api_key", `The API key expired on ${key.expiresAt.toISOString()}. ${remedy}`);

  const account = world.findAccount(key.accountId);
  if (account === undefined) throw unreadable("account of this API key");
  if (account.isSuspended)
    throw new GatewayError("permission_denied", "This account is suspended. Contact the operator of this service.");
  return { key, account };
}

/** A newer version of the gateway wrote its row, and serves it: unreadable limits must not count as no limits. */
function unreadable(what: string): GatewayError {
  return new GatewayError("billing_unavailable", `The ${what} cannot be read right now. Try again shortly.`, {
    headers: { "retry-after": "5" },
  });
}
